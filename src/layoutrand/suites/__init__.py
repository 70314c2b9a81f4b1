"""Benchmark suites with a harness of their own (SPEC CPU, DaCapo): their builds, their benchmarks, their verdicts."""
