"""Two commits of one system compared in rounds, until a verdict stands: `layoutrand check`."""
