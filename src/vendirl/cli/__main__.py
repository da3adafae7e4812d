import sys

from vendirl.cli import main

sys.exit(main())
