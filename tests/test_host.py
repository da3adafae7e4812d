import os
import subprocess
import sys


def test_no_programs_are_kept_where_finding_them_again_would_be_announced():
    """JAX tells XLA to show its errors if nobody told it anything before, and then it is too late for silence."""
    program = "import jax; from vendirl import _host; _host.keep_compiled_programs()"
    told = ("TF_CPP_MIN_LOG_LEVEL", "JAX_COMPILATION_CACHE_DIR")
    environment = {name: value for name, value in os.environ.items() if name not in told}
    command = [sys.executable, "-c", f"{program}; print(jax.config.jax_compilation_cache_dir)"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "None"
