"""Harnesses of benchmarks that people have already: one process executes several cases, and says how each went."""
