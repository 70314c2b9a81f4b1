"""Settings of all tests: no deadlines for single examples, and the same examples in every run of CI."""

import os

from hypothesis import settings

settings.register_profile("layoutrand", deadline=None, derandomize=os.environ.get("CI") == "true")
settings.load_profile("layoutrand")
