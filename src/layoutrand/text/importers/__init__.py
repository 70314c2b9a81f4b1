"""Results of other harnesses: one module for each of them, text in, rows out."""
