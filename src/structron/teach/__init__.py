"""Correct what a model predicts, on a page, and it learns at once: `structron teach`.

`project` is the SQLite file with everything that must not be lost, `tasks` says what is asked for each task, `teacher`
holds the model, learns from answers and chooses what to ask, `exchange` reads and writes other formats, `app` has the
addresses.
"""
