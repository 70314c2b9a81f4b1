"""The machine: facts, disturbances, pinning, settings that measuring wants, the lock."""
