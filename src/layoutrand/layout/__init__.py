"""Orders: a seed becomes a permutation of sections by a keyed hash, and how far two orders are apart."""
