"""Where a task lives: one module per kind of ticket."""
