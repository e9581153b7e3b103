"""What is wrong with a running job right now, by what agents measure and its logs show: pure rules."""
