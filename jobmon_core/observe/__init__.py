"""Reading what jobs leave on disk: their logs, and the patterns to match them against."""
