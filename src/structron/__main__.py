"""`python -m structron` is `structron`."""

import sys

from structron.cli.app import main

sys.exit(main())
