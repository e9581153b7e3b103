"""Read the files of experiment trackers without their libraries, one module a tracker.

The files are untrusted: each look reads a bounded number of bytes, and nothing is written beside them.
"""
