"""What each command does: one module a command, with `run(...)`, imported when the command is called."""
