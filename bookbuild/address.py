"""Where the book lives: one setting, ``repository.url`` in ``_config.yml``, and every address that follows from it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

# A public repository on GitHub: Colab and Binder open no others by such a link.
_REPOSITORY = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+?)(?:\.git)?/?")


@dataclass(frozen=True)
class Address:
    """``site`` is where the built pages are served, with a slash at its end; "" where nothing is set, and so no link is made."""

    owner: str = ""
    repository: str = ""
    branch: str = "main"
    site: str = ""

    @property
    def root(self) -> str:
        """The path of the site on its host: where a page that may be shown at any depth has to look for the others."""
        return urlsplit(self.site).path or "/"

    def page(self, name: str) -> str:
        """The public address of a page, relative where none is known."""
        return f"{self.site}{name}.html"

    def colab(self, name: str) -> str:
        """Opens the chapter's notebook of the published site (branch gh-pages) in Colab."""
        return f"https://colab.research.google.com/github/{self.owner}/{self.repository}/blob/gh-pages/_sources/{name}.ipynb"

    def binder(self, name: str) -> str:
        """Opens the chapter in a JupyterLab that Binder makes from ``.binder/``."""
        path = quote(f"lab/tree/{name}.md", safe="")
        return f"https://mybinder.org/v2/gh/{self.owner}/{self.repository}/{quote(self.branch, safe='')}?urlpath={path}"

    @property
    def package(self) -> str:
        """What pip installs to have the book's package without its folder."""
        return f"vitbook[notebooks] @ git+https://github.com/{self.owner}/{self.repository}@{self.branch}"


def read_address(url: str, branch: str = "main", site: str = "") -> Address:
    """The address behind ``repository.url``; without a ``html.baseurl`` the site is the one of GitHub Pages.

    Raises ValueError for an address that is none of a GitHub repository.
    """
    if not url:
        return Address(branch=branch or "main", site=_with_slash(site))
    found = _REPOSITORY.fullmatch(url.strip())
    if not found:
        raise ValueError(
            f"repository.url in _config.yml is {url!r}; expected https://github.com/OWNER/NAME, or nothing"
        )
    owner, repository = found.groups()
    pages = f"https://{owner.lower()}.github.io/"
    if repository.lower() != f"{owner.lower()}.github.io":
        pages += f"{repository}/"
    return Address(owner, repository, branch or "main", _with_slash(site or pages))


def _with_slash(site: str) -> str:
    if site and urlsplit(site).scheme not in ("http", "https"):
        raise ValueError(f"html.baseurl in _config.yml is {site!r}; expected https://…, or nothing")
    return f"{site.rstrip('/')}/" if site else ""
