"""Listen on a port that is already in use."""

import socket

first = socket.create_server(("127.0.0.1", 0))
second = socket.create_server(first.getsockname())
