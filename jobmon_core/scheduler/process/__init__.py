"""The process backend: it watches processes that run already, by their PIDs."""
