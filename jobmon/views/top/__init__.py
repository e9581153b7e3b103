"""The screen of ``jobmon top``, as pure functions of the tasks, the keys pressed and the window's size."""
