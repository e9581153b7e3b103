"""Ray clusters that are reached through their head pod, with kubectl."""
