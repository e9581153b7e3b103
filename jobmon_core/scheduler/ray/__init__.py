"""The Ray backend: it follows jobs through the HTTP API of Ray's dashboard, without Ray itself."""
