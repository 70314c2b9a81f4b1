"""From results to conclusions: which results belong together, levels of variance, ratios, plans, and their words."""
