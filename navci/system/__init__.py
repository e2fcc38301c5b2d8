"""The few doors to the outside: processes, git, files, the clock, templates."""
