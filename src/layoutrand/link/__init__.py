"""One layout linked from a capture, and proved: the order asked for, and nothing else changed."""
