"""The content-addressed store of captures and binaries, and the keys of what is in it."""
