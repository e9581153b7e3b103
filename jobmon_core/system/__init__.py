"""What all adapters share: running programs, files, locks, processes, the clock, JSON."""
