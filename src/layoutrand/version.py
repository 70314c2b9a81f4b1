"""The version of this package, which results, documents and records of failures are kept with."""

__version__ = "0.1.0"
