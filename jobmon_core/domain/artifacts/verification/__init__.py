"""Whether the outputs of an ended job are whole: all there, none damaged; and what its results say."""
