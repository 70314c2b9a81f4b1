"""The plan of executions, one measured execution, and what became of it."""
