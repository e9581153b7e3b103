"""What `jobmon web` shows at each address, made from the records that commands print.

A page's module is loaded when somebody opens such a page: the process that makes them stays small.
"""
