"""Many machines: captures carried to nodes, links and executions given out, and what comes back."""
