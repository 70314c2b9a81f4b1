"""The results file; nothing else opens it."""
