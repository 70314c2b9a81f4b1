"""The way in for programs and notebooks: `layoutrand.load` gives results, and of these what the commands would say.

It stands beside the command line and asks the same modules, so both say the same; what is documented as stable is named
in ``layoutrand.__all__``.
"""
