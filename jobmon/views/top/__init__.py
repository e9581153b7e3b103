"""The screen of ``jobmon top``: functions of tasks, keys and the window's size; `session` reads files."""
