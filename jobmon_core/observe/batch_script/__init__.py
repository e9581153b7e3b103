"""Look at the files and the software that a batch script names."""
