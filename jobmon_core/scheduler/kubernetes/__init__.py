"""The Kubernetes backend: jobs and pods of one namespace, seen through ``kubectl``."""
