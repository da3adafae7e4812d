"""Environments of other libraries: EnvPool, Gymnasium, MuJoCo Playground and Brax, each imported when asked for."""
