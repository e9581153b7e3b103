"""One pure rule for each item of the list; its docstring states what the item checks."""
