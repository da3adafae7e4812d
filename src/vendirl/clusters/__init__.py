"""Many runs at once: processes that train one run each, on this machine or on a cluster, and sweeps over settings."""
