"""The way in for programs and notebooks: `layoutrand.load` gives results, and of these what the commands would say.

The command line opens projects and results by it, too, so both say the same; what is documented as stable is named in
``layoutrand.__all__``.
"""
