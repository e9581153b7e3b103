"""Look at the start of a run: what its agents report, its logs and its folders."""
