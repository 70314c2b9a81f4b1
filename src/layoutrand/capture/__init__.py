"""From a source to a capture: the instrumented build, the links it records, and each of them proved repeatable."""
