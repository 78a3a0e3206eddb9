"""What the site does to pages: links to files of the repository that are no pages become their names."""

import re
from pathlib import Path
from typing import Any

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

    return LINK.sub(name, markdown)
