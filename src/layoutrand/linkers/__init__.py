"""Link lines, and linkers: where they are, how each is told an order, what it can do and what it prints."""
