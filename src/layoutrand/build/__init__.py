"""Systems x layouts -> verified binaries: relinked, rebuilt, taken as they are, or laid out inside any command."""
