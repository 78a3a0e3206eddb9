"""`python -m structron` is `structron`."""

from structron.cli.app import script

script()
