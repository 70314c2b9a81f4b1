"""The operating system: processes, files that are written whole or not at all, signals, git."""
