"""A JVM and its home: homes furnished for an execution, what a JVM says of its layout, and the proof of it."""
