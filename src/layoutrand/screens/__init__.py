"""What commands and notebooks show: answers, tables and figures of characters, from values to lines; prints nothing."""
