"""Which placement is to blame for slow layouts, and the experiment that confirms it."""
