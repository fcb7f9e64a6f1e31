"""Configuration of the documentation: `make docs` builds it, without network, with warnings as errors."""

import sys
from pathlib import Path

from sphinx.application import Sphinx

from konstrain import __version__

sys.path.insert(0, str(Path(__file__).parent))
import methods_table

project = "konstrain"
author = "The konstrain developers"
copyright = "the konstrain developers, BSD 3-Clause"
version = release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "offline_math",
    "sphinx_gallery.gen_gallery",
    "thumbnails",
]
templates_path = ["_templates"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
# Classes of which the guide tells, by the headings of its pages: their page in the reference links there.
autosummary_context = {
    "guide_pages": {
        page.read_text().splitlines()[0].removeprefix("# "): f"/guide/{page.stem}"
        for page in Path(__file__).parent.glob("guide/*.md")
    }
}
autodoc_typehints = "none"
# Methods are listed by the template of classes, each with its parameters; a second list would repeat them.
numpydoc_show_class_members = False

# Code, picture and notebook of each script; what did not change since the last build is not run again.
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/\w+\.py$",
    "ignore_pattern": r"(^|/)_\w+\.py$",
    "image_scrapers": ("thumbnails.scrape",),
    "thumbnail_size": (480, 360),
    "within_subsection_order": "ExampleTitleSortKey",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
}

html_math_renderer = "offline"
html_static_path = ["_static"]
html_css_files = ["gallery.css"]
html_theme = "furo"
html_title = f"konstrain {version}"
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def list_reports(app: Sphinx, page: str, source: list[str]) -> None:
    """Name the reports of experiments, once there are some: an empty list would be a warning."""
    place = "<!-- reports of experiments -->"
    if place not in source[0]:
        return
    # Reports come and go while this page stays the same.
    app.env.note_reread()
    reports = [f"results/{path.stem}" for path in sorted(Path(app.srcdir, "results").glob("*.md"))]
    head = ["```{toctree}", ":hidden:", ":caption: The papers' tables beside ours", ""]
    tree = "\n".join([*head, *reports, "```"]) if reports else ""
    source[0] = source[0].replace(place, tree)


def setup(app: Sphinx) -> None:
    """Connect what is generated while pages are read."""
    app.connect("source-read", methods_table.fill_in)
    app.connect("source-read", list_reports)
