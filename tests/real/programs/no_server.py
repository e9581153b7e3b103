"""Connect to a server that has ended."""

import socket

with socket.create_server(("127.0.0.1", 0)) as server:
    address = server.getsockname()
socket.create_connection(address)
