"""HTML as Markdown and as text."""

from __future__ import annotations

import time

import pytest

from xun_builtin_tools.web.html_text import convert


def md(source: str) -> str:
    return convert(source, "https://h.test/dir/page", markdown=True).text


def plain(source: str) -> str:
    return convert(source, "https://h.test/dir/page", markdown=False).text


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<h2>Head <em>one</em></h2><p>Two\n  words", "## Head *one*\n\nTwo words"),
        ("a<br>b", "a\nb"),
        ("<b> bold </b>x <i></i>", "**bold** x"),
        ("<a href='x?a=1&amp;b=(2)'>link</a>", "[link](https://h.test/dir/x?a=1&b=%282%29)"),
        ("<base href='https://o.test/'><a href=x>y</a>", "[y](https://o.test/x)"),
        ("<a href='javascript:x()'>js</a> <a href='#top'>top</a> <a>bare</a>", "js top bare"),
        ("<a href=https://h.test/>https://h.test/</a>", "<https://h.test/>"),
        ("<img src=i.png alt='An image'><img src=x>", "![An image](https://h.test/dir/i.png)"),
        ("<code>a`b</code> <kbd>Ctrl</kbd>", "``a`b`` `Ctrl`"),
        ("<ul><li>a<ul><li>in</ul><li>b</ul>after", "- a\n  - in\n- b\n\nafter"),
        ("before<ol start=3><li><p>one</p><p>more</p><li>two</ol>", "before\n\n3. one\n\n   more\n4. two"),
        ("<p>a<blockquote><p>q<p>r</blockquote>b", "a\n\n> q\n>\n> r\n\nb"),
        ("<pre><code class='language-py'>def f():\n    '```'\n</code></pre>", "````py\ndef f():\n    '```'\n````"),
        ("<table><tr><th>a<th>b<tr><td>1|2<td><p>x</p><p>y</p></table>", "| a | b |\n| --- | --- |\n| 1\\|2 | x y |"),
        ("a<hr>b", "a\n\n---\n\nb"),
        ("1 &lt; 2 &amp;&nbsp;3 &#x41; &bogus; R&D", "1 < 2 & 3 A &bogus; R&D"),
        ("<dl><dt>t<dd>d</dl>", "t\nd"),
    ],
)
def test_markdown(source, text):
    assert md(source) == text


def test_text_has_no_marks():
    source = "<h1>H</h1><p><b>b</b> <a href=/x>l</a> <code>c</code><pre>p\n q</pre><table><tr><td>1<td>2</table>"
    assert plain(source) == "H\n\nb l c\n\np\n q\n\n1\t2"


@pytest.mark.parametrize(
    "hidden",
    [
        "<script>let x = '<p>no</p>'</script>",
        "<style>no</style>",
        "<noscript>no</noscript>",
        "<template><p>no</p></template>",
        "<div hidden>no <div>no</div> no</div>",
        "<span style='color: red; DISPLAY : none'>no</span>",
        "<p style='visibility:hidden'>no",
        "<p hidden>no",
        "<svg><text>no</text></svg>",
        "<!-- no -->",
        "<p style='font-size:0'>no</p>",
    ],
)
def test_what_a_reader_does_not_see_is_left_out(hidden):
    assert md(f"<p>a</p>{hidden}<p>b</p>") == "a\n\nb"


def test_titles():
    page = convert("<title> A\n&amp; B </title><svg><title>no</title></svg>x", "http://h.test/", markdown=True)
    assert (page.title, page.text, page.cut) == ("A & B", "x", False)


PIECES = [
    "<!--",
    "<a ",
    "<",
    "</",
    "<ul><li>",
    "<blockquote>",
    "<table><tr><td>",
    "<b>",
    "</b>",
    "<a href=x>",
    "<code>",
]
PIECES += [
    "<a x='",
    "<![CDATA[",
    "<!",
    "<?",
    "<pre>",
    "&",
    "&#",
    "<p hidden>",
    "<title>",
    "<script></scrip ",
    "<!-- --",
]


@pytest.mark.parametrize("piece", PIECES)
def test_hostile_pages_take_linear_time(piece):
    source = (piece * (200_000 // len(piece) + 1))[:200_000]
    started = time.monotonic()
    convert(source, "http://h.test/", markdown=True)
    assert time.monotonic() - started < 5


def test_a_long_script_does_not_end_the_page():
    page = convert(f"<p>a<script>{'x' * 2_000_000}</script><p>b", "http://h.test/", markdown=True)
    assert (page.text, page.cut) == ("a\n\nb", False)


def test_a_page_that_takes_too_long_is_cut():
    page = convert("<p>word " * 100_000, "http://h.test/", markdown=True, seconds=0.01)
    assert page.cut and page.text.startswith("word")
