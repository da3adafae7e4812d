"""Settings of all tests: hypothesis draws the same examples on every run."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # matrices are small; threads would only wait for each other

from hypothesis import HealthCheck, settings

settings.register_profile(
    "deterministic",
    derandomize=True,
    deadline=None,  # compilation takes its time
    max_examples=20,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("deterministic")
