"""The agent: a program that runs on a node beside a task, measures it, and writes the figures to files."""
