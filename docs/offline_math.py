"""Equations by KaTeX, from files of our own (`docs/_static/katex/`, MIT licence): the site reads without network."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.math import get_node_equation_number
from sphinx.writers.html5 import HTML5Translator

# What a browser fetches to show a page: scripts, styles, pictures, frames; not where plain links lead.
FETCHED = re.compile(
    r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["'](?:https?:)?//|<link\b[^>]*\bhref=["'](?:https?:)?//"""
)


def visit_math(writer: HTML5Translator, node: nodes.math) -> None:
    """Write a formula within a line; `render.js` sets it."""
    writer.body.append(writer.starttag(node, "span", "", CLASS="math"))
    writer.body.append(writer.encode(node.astext()) + "</span>")
    raise nodes.SkipNode


def visit_displaymath(writer: HTML5Translator, node: nodes.math_block) -> None:
    """Write a formula of its own, with its number where it has one."""
    writer.body.append(writer.starttag(node, "div", CLASS="math-block"))
    writer.body.append(f'<div class="math">{writer.encode(node.astext())}</div>')
    if node["number"]:
        writer.body.append(f'<span class="eqno">({get_node_equation_number(writer, node)})</span>')
    writer.body.append("</div>")
    raise nodes.SkipNode


def refuse_pages_that_need_a_network(app: Sphinx, failure: Exception | None) -> None:
    """End the build when a page fetches anything from elsewhere."""
    if failure is None:
        found = [page.name for page in Path(app.outdir).rglob("*.html") if FETCHED.search(page.read_text())]
        if found:
            raise ExtensionError(f"pages that need a network: {', '.join(sorted(found))}")


def setup(app: Sphinx) -> None:
    """Offer the renderer to Sphinx and add what it needs to every page."""
    app.add_html_math_renderer("offline", (visit_math, None), (visit_displaymath, None))
    app.add_css_file("katex/katex.min.css")
    app.add_css_file("equations.css")
    app.add_js_file("katex/katex.min.js", loading_method="defer")
    app.add_js_file("render_equations.js", loading_method="defer")
    app.connect("build-finished", refuse_pages_that_need_a_network)
