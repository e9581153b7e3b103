"""The ssh backend: jobs on hosts without a scheduler, reached by ssh. Nothing is installed there."""
