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
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
# Pages that are read on a forge, too, point at files of the checkout; those are no pages here. Reports of experiments
# are pages once somebody has written some.
suppress_warnings = ["myst.xref_missing", "myst.header", "toc.empty_glob"]

autosummary_generate = True
autodoc_typehints = "none"
# Inherited methods get a line in their class's table, not a page each: scikit-learn documents them.
numpydoc_show_class_members = True
numpydoc_show_inherited_class_members = False
numpydoc_class_members_toctree = False

html_theme = "furo"
html_title = f"konstrain {version}"
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}


def setup(app: Sphinx) -> None:
    """Connect what is generated while pages are read."""
    app.connect("source-read", methods_table.fill_in)
