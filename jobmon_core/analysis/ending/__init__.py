"""What is done with the files of an ended job: verify outputs, quote results, write diagnostics."""
