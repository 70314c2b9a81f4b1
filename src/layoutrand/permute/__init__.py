"""The binary of another layout, written without a linker: learned once from what it links, and proved like a link."""
