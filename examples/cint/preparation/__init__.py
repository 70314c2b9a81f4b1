"""How the project directory is made: sources, inputs and workloads."""
