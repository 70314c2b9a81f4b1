"""Text in and out: templates and the output of other programs, as values; nothing is read or written here."""
