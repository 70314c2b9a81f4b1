"""layoutrand.toml and toolchain files: what can be declared, defaults, and every problem at once."""
