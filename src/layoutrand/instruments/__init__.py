"""What measures an execution (wall clock, perf, cachegrind, callgrind): what it is started with, and what it says."""
