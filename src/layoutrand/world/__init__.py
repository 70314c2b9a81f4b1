"""The outside world: processes, disk, host; the only layer with effects."""
