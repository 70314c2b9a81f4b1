"""Engines: what executes functions on other machines, such as Slurm; each is a module of `layoutrand.engines.known`."""
