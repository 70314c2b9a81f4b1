"""Pages and figures of what the analysis says."""
