"""Algorithm 1: problems, the loop, runs and their folders."""
