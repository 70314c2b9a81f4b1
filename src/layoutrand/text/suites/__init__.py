"""What the harnesses of suites print and write, read into numbers and verdicts."""
