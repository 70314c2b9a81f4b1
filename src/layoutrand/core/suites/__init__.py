"""Suites with a harness of their own: ``[suite]`` in, ordinary benchmarks (and a build) out; pure."""
