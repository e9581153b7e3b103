"""What is done with the files of an ended job."""
