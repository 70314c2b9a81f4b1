"""Results of other harnesses in, and ours out."""
