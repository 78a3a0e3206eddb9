"""`python -m structron.cli.help` writes down what the estimators' classes say of their options."""

from structron.cli.help import defaults

defaults.FILE.write_text(defaults.spelled(defaults.collect()), encoding="utf-8")
