"""All targets, by what they read."""

from fuzz import of_machine, of_numbers, of_permuting, of_programs, of_settings, of_state

TARGETS = (
    *of_numbers.TARGETS,
    *of_programs.TARGETS,
    *of_permuting.TARGETS,
    *of_settings.TARGETS,
    *of_state.TARGETS,
    *of_machine.TARGETS,
)
