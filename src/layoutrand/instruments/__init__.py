"""What measures an execution: what it is started with, and what it says; each one a module of `known`."""
