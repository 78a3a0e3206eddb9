"""What the site does to pages: links to files of the repository that are no pages become their names, and estimators
in the reference get a table of their options, as their classes have them."""

import re
from importlib import import_module
from inspect import getdoc, signature
from pathlib import Path
from textwrap import dedent
from typing import Any

ESTIMATOR = re.compile(r"^::: structron\.((?:sklearn\.)?[A-Z]\w+)$", re.MULTILINE)
LINK = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)#\s]+)(#[^)]*)?\)")


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace links that leave the folder of pages; a file that is not there is an error."""
    root, here = Path(config["docs_dir"]).parent, Path(page.file.abs_src_path).parent

    def name(link: re.Match[str]) -> str:
        target = (here / link[2]).resolve()
        if target.is_relative_to(Path(config["docs_dir"]).resolve()):
            return link[0]
        if not target.exists():
            raise FileNotFoundError(f"{page.file.src_path}: {link[2]} is not there")
        return f"{link[1]} (`{target.relative_to(root)}`)"

    return ESTIMATOR.sub(lambda match: f"{described(match[1])}\n\n{match[0]}", LINK.sub(name, markdown))


def described(name: str) -> str:
    """What a class says of itself and its example, if it is an estimator, and its options."""
    from structron.estimator import Estimator

    folder, _, own = f"structron.{name}".rpartition(".")
    kind = getattr(import_module(folder), own)
    estimator = isinstance(kind, type) and issubclass(kind, Estimator)
    if not estimator:
        return options_table(name)
    about, _, rest = (getdoc(kind) or "").partition("\n\nArgs:")
    example = dedent(rest.partition("\n\nExamples:\n")[2])
    return f"{about}\n\n" + (f"```pycon\n{example}\n```\n\n" if example else "") + options_table(name)


def options_table(name: str) -> str:
    """The options of a class with their defaults; "": it has none."""
    from structron.estimator import Estimator
    from structron.fields import DEFAULT, Options, default_of, options_of

    folder, _, name = f"structron.{name}".rpartition(".")
    kind = getattr(import_module(folder), name)
    if not (isinstance(kind, type) and issubclass(kind, Options | Estimator)):
        return ""
    if not options_of(kind).keys() <= signature(kind).parameters.keys():
        return ""  # it has parameters of its own
    lines = [f"Options of `{name}`, all by keyword:", "", "| option | default | |", "| --- | --- | --- |"]
    for own, option in options_of(kind).items():
        default = default_of(kind, own)
        shown = "follows from other options" if default == DEFAULT and isinstance(default, str) else f"`{default!r}`"
        lines.append(f"| `{own}` | {shown} | {option.help.replace('|', chr(92) + '|')} |")
    return "\n".join([*lines, ""])
