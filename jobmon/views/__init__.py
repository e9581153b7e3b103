"""What the user sees, as text and JSON. Only `full_screen`, `terminal` and `top.session` do I/O."""
