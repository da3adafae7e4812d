"""`python -m vendirl.cli`, which finds what `vendirl` finds: modules in the current folder only if asked for them."""

import sys

if not sys.flags.safe_path:
    del sys.path[0]  # the current folder, which may hold files of others; `--import` puts it back

from vendirl.cli import main

sys.exit(main())
