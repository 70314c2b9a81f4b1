"""Pages and figures of what the analysis says.

Figures are SVG text, made by pure functions of small frozen dataclasses.  Their colours are classes (``s0`` ... ``s4``)
and ``currentColor``, so the page's style sheet decides for light, dark and paper.  Series differ in their marks as well
as their colours.  Coordinates have one decimal, so equal data give equal text.
"""
