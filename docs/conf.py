"""The documentation site: `make docs` builds it from these pages and from the docstrings, into build/docs.

Sphinx with furo and MyST, because all three are kept by active maintainers, read plain Markdown as it stands in the
repository, and take the reference from the docstrings themselves.
"""

from __future__ import annotations

from prereg_kit import __version__

project = "prereg-kit"
author = "The prereg-kit authors"
project_copyright = author
release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "prereg-kit"
exclude_patterns = ["remake_*.py"]

napoleon_google_docstring = True
napoleon_attr_annotations = True
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_default_options = {"members": True, "show-inheritance": True, "exclude-members": "model_config"}

# Pages link to files of the repository that the site does not carry (reports, test vectors); those links are for
# readers of the repository. Type names in docstrings are not resolved: pydantic's own reference is not at hand.
suppress_warnings = ["myst.xref_missing", "ref.python"]
nitpicky = False
