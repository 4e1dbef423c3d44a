"""A hook of MkDocs: README.md is the first page, and links to files outside of docs/ lead to the repository."""

import os
import re

from mkdocs.structure.files import File

REPOSITORY = "https://github.com/p20export/p20export/blob/main/"
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LINK = re.compile(r"(\]\()([^()\s#]+)(#[^()\s]*)?(\))")
FENCE = re.compile(r"(^```.*?^```)", re.M | re.S)


def on_files(files, config):
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as readme:
        files.append(File.generated(config, "index.md", content=readme.read()))
    with open(os.path.join(os.environ["P20EXPORT_SITE_MODULES"], "iframe-worker", "shim", "index.js"), encoding="utf-8") as shim:
        files.append(File.generated(config, "site/iframe-worker.js", content=shim.read()))
    return files


def on_page_markdown(markdown, page, config, files):
    here = "" if page.file.src_uri == "index.md" else os.path.dirname("docs/" + page.file.src_uri)

    def link(match):
        path, anchor = match[2], match[3] or ""
        if "://" in path or path.startswith("mailto:"):
            return match[0]
        target = os.path.normpath(os.path.join(here, path))
        inside = os.path.relpath(target, "docs")
        if target.startswith("docs/") and files.get_file_from_path(inside):
            to = os.path.relpath(inside, os.path.dirname(page.file.src_uri) or ".")
        elif target == "README.md":
            to = os.path.relpath("index.md", os.path.dirname(page.file.src_uri) or ".")
        elif os.path.exists(os.path.join(ROOT, target)):
            to = REPOSITORY + target
        else:
            raise ValueError("%s links to %s, which does not exist" % (page.file.src_uri, path))
        return match[1] + to + anchor + match[4]

    parts = FENCE.split(markdown)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)
