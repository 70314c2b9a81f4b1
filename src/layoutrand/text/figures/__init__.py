"""Figures of the HTML report as SVG text: pure functions of small frozen dataclasses, no plotting library.

Colours are classes (``s0`` ... ``s4``) and ``currentColor``, so the page's style sheet decides for light, dark and
paper.  Series differ in their marks as well as their colours.  Coordinates have one decimal, so equal
data give equal text.
"""
