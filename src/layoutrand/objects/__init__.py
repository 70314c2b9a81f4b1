"""Object files and archives: read, and edited so that each section can be placed."""
