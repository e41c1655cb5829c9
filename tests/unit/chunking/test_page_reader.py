from __future__ import annotations

from html import escape

import pytest

from mkdocs_semsearch.chunking.blocks import Block, Heading, join_blocks, split_sections
from mkdocs_semsearch.chunking.page_reader import read_page


def text_of(html: str) -> str:
    return join_blocks([block for block in read_page(html) if isinstance(block, Block)])


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ("<p>one <b>t</b>wo\n three<br>four</p>", "one two three\nfour"),
        ("<p>use <code>a_b</code>.</p>", "use `a_b`."),
        ("<p>a&nbsp;b &amp; c&shy;d</p>", "a b & cd"),
        ("<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>", "- a\n  - b\n- c"),
        ('<ol start="3"><li>a</li><li><p>b</p><p>c</p></li></ol>', "3. a\n4. b\n  c"),
        ("<dl><dt>Term</dt><dd>what it is</dd></dl>", "Term\n: what it is"),
        ('<pre><code class="language-py">x = 1\n\ny</code></pre>', "```python\nx = 1\n\ny\n```"),
        ("<pre>a\n```\nb</pre>", "````\na\n```\nb\n````"),
        ("<p>a<p>b<div>c<span>d</div>e", "a\n\nb\n\ncd\n\ne"),
        ('<div class="toc"><ul><li><a href="#a">A</a></li></ul></div><p>x</p>', "x"),
        ('<p>see <img alt="a diagram" src="x.png"></p>', "see a diagram"),
        (
            '<p><img alt="a.flow-1 (2).png" src="x.png"> <img alt="image1"> '
            '<img alt="Screenshot 2023-06-19 at 10.43"></p>',
            "",
        ),
        (
            '<p><img alt="Image of a flow"> <img alt="Screenshot 1: a.png is open"></p>',
            "Image of a flow Screenshot 1: a.png is open",
        ),
        ('<div><img alt="No description has been provided for this image" src="data:"></div><p>x</p>', "x"),
        ('<p><img alt="Acme flow" src="a.png#only-light"><img alt="Acme flow" src="b.png#only-dark"></p>', "Acme flow"),
        ('<p><img alt="Acme" src="a.png#gh-dark-mode-only"> x</p>', "x"),
        ('<p><img alt="Acme Logo" src="a.svg"> <b>Acme</b> is a tool.</p>', "Acme is a tool."),
        ('<p><a href="https://acme.org"><img alt="release-badge" src="a.svg"></a></p><p>x</p>', "x"),
        ('<table><tr><td><img alt="Acme logo"></td><td><img alt="Acme"></td></tr></table>', "|  | Acme |"),
        ('<table><tr><td><img alt="Setup-Banner"></td><td><img alt="Acme"></td></tr></table>', "|  | Acme |"),
        ('<p>Click <img alt="the gear icon" src="a.svg"> to open it.</p>', "Click the gear icon to open it."),
        (
            '<p><img alt=":material-check:" class="twemoji"> <img alt="✅" class="emojione"> '
            '<img alt="Acme" class="x"></p>',
            "✅ Acme",
        ),
        ("<figure><img alt='chart'><figcaption>Load</figcaption></figure>", "chart\n\nLoad"),
        ("<table><caption>Limits</caption><tr><td>a</td></tr></table>", "Limits\n\n| a |"),
        ("<p><code>a</code><code>b</code> and<code> c </code>.</p>", "`ab` and `c` ."),
        ("<p>A ` and <code>b</code>.</p>", "A ` and b."),
        ("<p><code>a`b</code> <code>c</code></p>", "a`b c"),
        ("<p><code>One. Two.</code></p>", "`One. Two.`"),
        (
            '<p>If <span class="katex"><span class="katex-mathml"><math><semantics><mi>a</mi>'
            '<annotation encoding="application/x-tex">a^2</annotation></semantics></math></span>'
            '<span class="katex-html">a2</span></span>.</p>',
            "If a^2.",
        ),
        ("<p>If <math><semantics><mi>a</mi><annotation>b</annotation></semantics></math>.</p>", "If ab."),
        ("<p>If <math><msup><mi>a</mi><mn>2</mn></msup></math>.</p>", "If a2."),
        ("<p><code>a<br>b</code> <code></code> <tt>c</tt></p>", "a\nb `c`"),
        ("<ul><li><code>key:</code> value</li></ul>", "- `key:` value"),
        ("<table><tr><td><code>a</code></td><td>b <code>c</code></td></tr></table>", "| `a` | b `c` |"),
        ("<details><summary>More</summary><p>inside</p></details>", "More:\u00a0inside"),
        ('<div class="admonition note"><p class="admonition-title">Note</p><p>x</p></div>', "Note:\u00a0x"),
        ('<div class="admonition"><p class="admonition-title">Done</p></div><p>x</p>', "Done\n\nx"),
        ("<details><summary>More</summary></details><p>x</p>", "More\n\nx"),
        ('<span class="keys"><kbd>Ctrl</kbd><span>+</span><kbd>K</kbd></span>', "Ctrl+K"),
        ('x<sup id="fnref:1"><a class="footnote-ref" href="#fn:1">1</a></sup> y', "x y"),
        (
            '<p>x<sup><a class="footnote-ref" href="#fn:1">1</a></sup></p><h2>Next</h2><p>y</p>'
            '<div class="footnote"><hr><ol><li id="fn:1"><p>note&#160;<a class="footnote-backref">↩</a></p></li>'
            '<li id="fn:2">lost</li></ol></div>',
            "x\n\nnote\n\ny\n\nlost",
        ),
        (
            '<table><tr><td>x<sup><a class="footnote-ref" href="#f">1</a></sup></td></tr></table>'
            '<h2>Next<sup><a class="footnote-ref" href="#g">2</a></sup></h2><pre>y</pre><h2>Last</h2><p>z</p>'
            '<div class="footnote"><ol><li id="f">one</li><li id="g">two</li></ol></div>',
            "| x |\n\none\n\n```\ny\n```\n\ntwo\n\nz",
        ),
        (  # mdBook
            '<p>x<sup class="footnote-reference" id="fr-1-1"><a href="#footnote-1">1</a></sup></p><p>y</p><hr>'
            '<ol class="footnote-definition"><li id="footnote-1"><p>note <a href="#fr-1-1">↩</a> '
            '<a href="#fr-1-2">↩2</a></p></li></ol>',
            "x\n\nnote\n\ny",
        ),
        (  # Sphinx
            '<p>x<a class="footnote-reference brackets" href="#f" id="id1" role="doc-noteref"><span>[</span>1]</a></p>'
            '<p>y</p><aside class="footnote-list brackets"><aside class="footnote brackets" id="f" role="doc-footnote">'
            '<span class="label">[<a role="doc-backlink" href="#id1">1</a>]</span><p>note</p></aside></aside>',
            "x\n\nnote\n\ny",
        ),
        (  # Sphinx, with more than one reference to the note
            '<p>x<a class="footnote-reference" href="#f" role="doc-noteref">1</a></p><p>y</p><aside class="footnote" '
            'id="f" role="doc-footnote"><span class="label">[1]</span><span class="backrefs">(<a role="doc-backlink" '
            'href="#a">1</a>,<a role="doc-backlink" href="#b">2</a>)</span><p>note</p></aside>',
            "x\n\nnote\n\ny",
        ),
        (  # Sphinx
            '<div class="citation" id="a" role="doc-biblioentry"><span class="label"><span class="fn-bracket">[</span>'
            '<a role="doc-backlink" href="#b">Doe20</a><span class="fn-bracket">]</span></span><p>book</p></div>'
            '<div class="citation" id="c" role="doc-biblioentry"><span class="label">[Roe21]</span><span '
            'class="backrefs">(<a role="doc-backlink" href="#d">1</a>,<a role="doc-backlink" href="#e">2</a>)</span>'
            "<p>paper</p></div>",
            "[Doe20]\n\nbook\n\n[Roe21]\n\npaper",
        ),
        (  # Docusaurus
            '<p>x<sup><a href="#user-content-fn-1" data-footnote-ref="true">1</a></sup></p><p>y</p>'
            '<section data-footnotes="true" class="footnotes"><h2 class="sr-only" id="footnote-label">Footnotes</h2>'
            '<ol><li id="user-content-fn-1"><p>note <a data-footnote-backref="" class="data-footnote-backref">↩</a></p>'
            "</li></ol></section>",
            "x\n\nnote\n\ny",
        ),
        ("<p>a</p><!-- no --><script>no</script><style>no</style><template>no</template><p hidden>no</p>", "a"),
        ('<p>a</p><p data-search-exclude>no</p><div data-search-exclude=""><pre>no</pre></div>', "a"),
        ("<table><tr><th>A</th><th>B</th></tr><tr><td>1<p>x</td><td>2</td></tr></table>", "| A | B |\n| 1 x | 2 |"),
        ("<table><tr><td><table><tr><td>in</td></tr></table></td></tr></table>", "| in |"),
        (
            '<li class="task-list-item"><label><input type="checkbox" checked></label> done</li>',
            "- [x] done",
        ),
        (
            '<table class="highlighttable"><tr><td class="linenos"><div class="linenodiv"><pre>1</pre></div></td>'
            '<td class="code"><div class="language-rust highlight"><pre><code>fn main</code></pre></div></td></table>',
            "```rust\nfn main\n```",
        ),
        (  # Hugo, with line numbers in a table
            '<div class="highlight"><table style="border:0"><tr><td><pre><code>'
            '<span style="user-select:none">1\n</span><span style="user-select:none">2\n</span></code></pre></td>'
            '<td><pre><code class="language-bash"><span style="display:flex">a 1\n</span><span>b\n</span></code></pre>'
            "</td></tr></table></div>",
            "```bash\na 1\nb\n```",
        ),
        (  # Hugo, with line numbers beside each line
            '<pre><code class="language-bash"><span><span style="white-space:pre;user-select:none">1</span><span>a\n'
            '</span></span><span class="line"><span class="ln">2</span>b\n</span></code></pre>',
            "```bash\na\nb\n```",
        ),
        ("<table><tr><td>1 2</td><td>a <code>b</code></td></tr></table>", "| 1 2 | a `b` |"),
        (
            "<table><tr><td>Run</td><td><pre>a\nb</pre></td></tr></table>",
            "| Run | a b |",
        ),
        (
            '<div class="tabbed-set"><input><input><div class="tabbed-labels"><label>A</label><label>B</label></div>'
            '<div class="tabbed-content"><div class="tabbed-block"><p>1</p></div>'
            '<div class="tabbed-block"><p>2</p></div></div></div>',
            "A\n\n1\n\nB\n\n2",
        ),
        (
            '<div class="language-yaml highlight"><span class="filename">a.yml</span>'
            "<pre><code>x: 1 # (1)!</code></pre></div>",
            "a.yml\n\n```yaml\nx: 1\n```",
        ),
    ],
)
def test_html_becomes_light_markdown(html: str, expected: str) -> None:
    assert text_of(html) == expected


@pytest.mark.parametrize(
    ("marked", "code"),
    [
        ("a = 1 # (1)!\nb //(2)! ", "a = 1\nb"),
        ("<p> <!-- (1)! -->\n<!--(2)!--></p>", "<p>\n</p>"),
        ("a { /* (1)! */ b: c; } /*(2)! */", "a { b: c; }"),
        ("a = 1 # (2)! (13)!", "a = 1"),
        ("f(1)! # (1)! a", "f(1)! # (1)! a"),
        ("a /* (1)! b */", "a /* (1)! b */"),
    ],
)
def test_annotation_marks_are_not_part_of_code(marked: str, code: str) -> None:
    (block,) = read_page(f"<pre><code>{escape(marked)}</code></pre>")
    assert block.text == code


def test_headings_keep_their_own_id_and_lose_the_permalink() -> None:
    (heading,) = read_page('<h2 id="a.b">Run <code>x</code><a class="headerlink" href="#a.b">¶</a></h2>')
    assert heading == Heading(2, "Run x", "a.b")


def test_a_section_lends_its_id_to_the_heading_it_starts_with() -> None:
    found = read_page(
        '<section id="a"><h2>A</h2><p>x</p><h3>B</h3><section id="c"><p>y</p><h3>C</h3></section></section>'
    )
    assert [item.anchor for item in found if isinstance(item, Heading)] == ["a", None, None]


MKDOCSTRINGS = """
<div class="doc doc-object doc-class">
<h2 id="pkg.mod.Thing" class="doc doc-heading"><code>Thing</code>
  <span class="doc doc-labels"><small class="doc doc-label"><code>dataclass</code></small></span></h2>
<div class="doc doc-contents"><p>A thing.</p>
<details class="quote"><summary>Source code in <code>pkg/mod.py</code></summary><pre>class Thing: secret</pre></details>
<div class="doc doc-children"><div class="doc doc-object doc-function">
<h3 id="pkg.mod.Thing.run" class="doc doc-heading"><code>run</code></h3>
<div class="doc-signature highlight"><pre><code>run(speed: int) -> None</code></pre></div>
<div class="doc doc-contents"><p>Runs.</p>
<details class="mkdocstrings-source"><summary>Source</summary><pre>secret</pre></details></div></div></div></div></div>
"""


def test_the_section_of_a_parameter_ends_with_its_item() -> None:
    html = (
        '<div class="doc doc-object doc-function"><h3 id="pkg.run" class="doc doc-heading"><code>run</code></h3>'
        '<div class="doc doc-contents"><p>Runs.</p><ul><li class="doc-section-item field-body">'
        '<h4 id="pkg.run(speed)" class="doc doc-heading doc-heading-parameter"><b><code>speed</code></b>'
        '<a href="#pkg.run(speed)" class="headerlink">¤</a></h4> (<code>int</code>) – <p>In knots:</p>'
        "<ul><li>from 0</li></ul><p>to 9.</p></li></ul>"
        '<p>Returns:</p><p>The distance.</p><div class="doc doc-backlinks">Referenced by: Guide</div></div></div>'
    )
    sections = split_sections(read_page(html), "Page")
    assert [section.hierarchy for section in sections] == [("Page", "run"), ("Page", "run", "speed")]
    function, parameter = ("\n".join(block.text for block in section.blocks) for section in sections)
    assert function == "Runs.\nReturns:\nThe distance."
    assert "from 0" in parameter
    assert "to 9." in parameter


@pytest.mark.parametrize("tag", ["blockquote", "li", "dd", "details", 'div class="admonition note"'])
def test_what_follows_an_element_with_headings_is_not_about_these_headings(tag: str) -> None:
    html = (
        f'<h2 id="a">A</h2><p>before</p><{tag}><p>lead</p><h1 id="b">B</h1><p>inside</p><h2>C</h2><p>deeper</p>'
        f"</{tag.split()[0]}><p>after</p><h2>D</h2><p>last</p>"
    )
    sections = split_sections(read_page(html), "Page")
    texts = {section.hierarchy: " ".join(block.text.strip(" -:") for block in section.blocks) for section in sections}
    assert texts == {
        ("Page", "A"): "before lead after",
        ("Page", "A", "B"): "inside",
        ("Page", "A", "B", "C"): "deeper",
        ("Page", "D"): "last",
    }


def test_the_title_of_a_note_is_above_its_headings() -> None:
    details = "<details><summary>{0}</summary><p>About {0}.</p><h3>What is it?</h3><p>It is {0}.</p></details>"
    html = f'<h2 id="a">Terms</h2>{details.format("Pod")}{details.format("Node")}<p>end</p>'
    sections = split_sections(read_page(html), "Page")
    assert [(section.hierarchy[1:], [block.text for block in section.blocks]) for section in sections] == [
        (("Terms",), ["end"]),
        (("Terms", "Pod"), ["About Pod."]),
        (("Terms", "Pod", "What is it?"), ["It is Pod."]),
        (("Terms", "Node"), ["About Node."]),
        (("Terms", "Node", "What is it?"), ["It is Node."]),
    ]
    assert {section.anchor for section in sections} == {"a"}


@pytest.mark.parametrize("apart", [True, False])
def test_the_label_of_a_tab_is_above_its_headings(*, apart: bool) -> None:
    names = ("<label>Linux</label>", "<label>Other</label>", "<label>Windows</label>")
    texts = ("<p>a</p><h3>Setup</h3><p>b</p>", "<p>c</p>", "<h3>Setup</h3><p>d</p><h4>Next</h4><p>e</p>")
    panels = [f'<div class="tabbed-{"block" if apart else "content"}">{text}</div>' for text in texts]
    if apart:
        tabs = f'<div class="tabbed-labels">{"".join(names)}</div>\n<div class="tabbed-content">{"".join(panels)}</div>'
    else:
        tabs = "".join(f"<input>{name}\n{panel}" for name, panel in zip(names, panels, strict=True))
    sections = split_sections(read_page(f'<h2>A</h2><div class="tabbed-set">{tabs}</div><p>after</p>'), "Page")
    assert [(section.hierarchy[1:], [block.text for block in section.blocks]) for section in sections] == [
        (("A",), ["Other", "c", "after"]),
        (("A", "Linux"), ["a"]),
        (("A", "Linux", "Setup"), ["b"]),
        (("A", "Windows", "Setup"), ["d"]),
        (("A", "Windows", "Setup", "Next"), ["e"]),
    ]


def test_a_heading_in_the_title_of_a_note_keeps_its_id() -> None:
    html = '<h2 id="a">A</h2><details><summary><h3 id="b">B</h3></summary><p>x</p></details><p>y</p>'
    sections = split_sections(read_page(html), "Page")
    assert [(section.hierarchy, section.anchor) for section in sections] == [
        (("Page", "A"), "a"),
        (("Page", "A", "B"), "b"),
    ]


def test_headings_in_a_note_of_an_excluded_section_are_excluded() -> None:
    html = (
        '<h2 data-search-exclude>A</h2><div class="admonition"><h1>B</h1><p>no</p></div><p>no</p><h2>C</h2><p>yes</p>'
        "<blockquote><h3 data-search-exclude>D</h3><p>no</p></blockquote><p>after</p>"
    )
    sections = split_sections(read_page(html), "Page")
    assert [(section.hierarchy, [block.text for block in section.blocks]) for section in sections] == [
        (("Page", "C"), ["yes", "after"])
    ]


@pytest.mark.parametrize(
    "note",
    [
        '<div class="admonition"><p class="admonition-title">SECRET</p><h3>In</h3><p>SECRET</p></div>',
        "<details><summary>SECRET</summary><h6>In</h6><p>SECRET</p></details>",
        '<div class="tabbed-set"><label>SECRET</label><div><h1>In</h1><p>SECRET</p></div></div>',
    ],
)
def test_titles_of_notes_in_an_excluded_section_are_excluded(note: str) -> None:
    sections = split_sections(
        read_page(f"<h2 data-search-exclude>A</h2>{note}<p>SECRET</p><h2>C</h2><p>yes</p>"), "Page"
    )
    assert [section.hierarchy for section in sections] == [("Page", "C")]


@pytest.mark.parametrize("attribute", ["data-search-exclude", "hidden"])
def test_hidden_labels_and_buttons_are_no_headings(attribute: str) -> None:
    html = (
        f'<div class="tabbed-set"><label {attribute}>SECRET</label><div><h3>In</h3><p>x</p></div> stray</div>'
        f"<h3><button {attribute}>SECRET</button></h3><h3><span {attribute}><button>SECRET</button></span></h3>"
        "<h3><svg></svg><button>Copy link</button></h3>"
    )
    found = read_page(html)
    assert [item.text for item in found if isinstance(item, Heading)] == ["In"]
    assert text_of(html) == "x\n\nstray"


def test_a_heading_above_a_quotation_with_headings_is_no_result_of_its_own() -> None:
    html = '<h2>A</h2><blockquote><h3 id="q">B</h3><p>t</p></blockquote><h2 id="c">C</h2>'
    assert [section.hierarchy for section in split_sections(read_page(html), "T")] == [("T", "A", "B"), ("T", "C")]


def test_headings_in_very_many_elements_do_not_grow_the_heading_path() -> None:
    html = "".join(f"<details><summary>s{level}</summary><h2>h{level}</h2>" for level in range(300)) + "<p>x</p>"
    assert max(len(section.hierarchy) for section in split_sections(read_page(html), "T")) < 40


def test_an_empty_item_of_a_note_leaves_its_title_with_its_text() -> None:
    assert (
        text_of('<div class="admonition"><p class="admonition-title">Note</p><ul><li></li></ul><p>text</p></div>')
        == "Note:\xa0text"
    )


def test_the_text_of_a_heading_that_is_a_button_is_kept() -> None:
    found = read_page(
        '<h4 id="a"><button class="acc">Why <i>so</i>?</button></h4><p>x</p><h4>B <button>Copy</button></h4>'
        "<h4><button>#</button></h4>"
    )
    assert [(item.text, item.anchor) for item in found if isinstance(item, Heading)] == [("Why so?", "a"), ("B", None)]


def test_documented_objects_keep_signatures_and_lose_their_source() -> None:
    found = read_page(MKDOCSTRINGS)
    apis = [item.api for item in found if isinstance(item, Heading)]
    assert [api.node_type for api in apis if api] == ["class", "method"]
    assert apis[1] is not None
    assert apis[1].scope_path == ("pkg", "mod", "Thing", "run")
    text = text_of(MKDOCSTRINGS)
    assert "run(speed: int) -> None" in text
    assert "secret" not in text
    assert [item.text for item in found if isinstance(item, Heading)] == ["Thing", "run"]


@pytest.mark.parametrize(
    "diagram",
    [
        '<pre class="mermaid"><code id="mermaid-diagram-{}">A --> B</code></pre>',
        '<div class="mermaid" id="mermaid-diagram-{}">A --> B</div>',
    ],
)
def test_the_inheritance_diagram_of_a_class_is_left_out_and_diagrams_of_authors_are_not(diagram: str) -> None:
    docstring = '<p>A thing.</p><pre class="mermaid"><code>flowchart</code></pre>'
    html = (
        f'<div class="doc doc-contents">{diagram.format("pkg.Thing")}{docstring}</div><p id="mermaid-diagram-x">x</p>'
    )
    assert text_of(html) == "A thing.\n\n```mermaid\nflowchart\n```\n\nx"


@pytest.mark.parametrize(
    "html",
    [
        "<ul><li>x" * 5000,
        "<div><blockquote>" * 5000 + "x",
        "<b><i>x" * 3000,
        "<table><tr><td>x" * 2000,
        "<frameset><p>x",
        "x" * 100_000,
        "<p>a\0b\u202ec\ud800d</p>",
        "<p title='x",
        "<!-- <p>",
        "",
        "</p></div>",
    ],
    ids=lambda html: html[:12].encode("ascii", "backslashreplace").decode(),
)
def test_hostile_html_is_read_to_the_end(html: str) -> None:
    for item in read_page(html):
        assert "\0" not in item.text
        item.text.encode("utf-8")


NOTEBOOK = """
<div class="jp-Cell jp-MarkdownCell"><div class="jp-RenderedMarkdown">
<h1 id="Load-data">Load data<a class="anchor-link" href="#Load-data">¶</a></h1></div></div>
<div class="jp-Cell jp-CodeCell"><div class="jp-InputArea">
<div class="jp-InputPrompt jp-InputArea-prompt">In&nbsp;[1]:</div>
<div class="zeroclipboard-container"><clipboard-copy for="cell-1"><div>copy</div></clipboard-copy></div>
<div class="highlight-ipynb hl-ipython3"><pre><span></span><span class="n">frame</span> <span>= 1</span></pre></div>
<div id="cell-1" class="clipboard-copy-txt">frame = 1</div></div>
<div class="jp-OutputArea"><div class="jp-OutputPrompt jp-OutputArea-prompt">Out[1]:</div>
<div class="jp-RenderedText"><pre>1</pre></div></div></div>
"""


def test_a_notebook_has_its_cells_once_without_prompts_and_permalinks() -> None:
    assert read_page(NOTEBOOK) == [
        Heading(1, "Load data", "Load-data"),
        Block("code", "frame = 1", "python"),
        Block("code", "1"),
    ]


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<section id="a"><span id="target"></span><h2>A<a class="headerlink" href="#a">¶</a></h2></section>', "a"),
        ('<section id="a"><span id="target"></span><h2>A</h2></section>', "a"),
        ('<div class="section" id="a"><h2>A</h2></div>', "a"),
        ('<h2>A<a class="headerlink" href="#%C3%A9t%C3%A9">#</a></h2>', "été"),
        ('<h1><a class="header" href="#a">A</a></h1>', "a"),
        ('<h2><a class="toc-backref" href="#id1">A</a><a class="headerlink" href="#a">¶</a></h2>', "a"),
        ('<section id="a"><h2><a class="toc-backref" href="#id1">A</a></h2></section>', "a"),
        (
            '<h2><a class="toc-backref" href="#i" role="doc-backlink">A</a><a class="headerlink" href="#a">¶</a></h2>',
            "a",
        ),
        ('<section id="a"><h2><a class="toc-backref" href="#id1" role="doc-backlink">A</a></h2></section>', "a"),
        ('<p>x</p><a name="a"></a><h2>A</h2>', "a"),
        ('<p>x</p>\n<span id="a"></span>\n<h2>A</h2>', "a"),
        ('<h2>A<span id="a"></span><a href="#a" class="subheading-anchor"></a></h2>', "a"),
        ('<h2 id="a" tabindex="-1">A <a class="header-anchor" href="#a">&ZeroWidthSpace;</a></h2>', "a"),
        ('<h2 class="anchor" id="a">A<a href="#a" class="hash-link" aria-label="Direct link">​</a></h2>', "a"),
        ('<h2 id="a">A<a class="anchor" href="#a">#</a></h2>', "a"),
        ('<h2><a href="#elsewhere">A</a> and more</h2>', None),
        ('<p>x</p><span id="b">words</span><h2>A</h2>', None),
    ],
)
def test_the_anchor_is_where_the_link_to_a_heading_leads(html: str, expected: str | None) -> None:
    (heading,) = [item for item in read_page(html) if isinstance(item, Heading)]
    assert heading.anchor == expected
    assert heading.text in ("A", "A and more")


def test_a_heading_that_is_only_a_sign_keeps_it() -> None:
    assert read_page('<h2 id="plus"><a href="#plus">+</a></h2>') == [Heading(2, "+", "plus")]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<h2><span class=twemoji><svg></svg></span> - Name</h2>", "Name"),
        ("<h2> <!-- md:utility --> – Name</h2>", "Name"),
        ("<h2><i class=fa></i>: <code>name</code></h2>", "name"),
        ("<h2>The operator - <a class=headerlink href='#x'><svg></svg></a></h2>", "The operator -"),
        ("<h2><code>a</code> - b</h2>", "a - b"),
        ("<h2>Name <svg></svg> - <svg></svg> other</h2>", "Name - other"),
        ("<h2><svg></svg> --name</h2>", "--name"),
        ("<h2><svg></svg> -</h2>", "-"),
        ("<h2>- Name</h2>", "- Name"),
    ],
)
def test_a_heading_loses_the_dash_that_separated_an_icon(html: str, text: str) -> None:
    (heading,) = read_page(html)
    assert heading.text == text


def test_a_long_signature_is_shortened_in_the_heading_and_complete_in_the_text() -> None:
    signature = (
        "SamGeo2.__init__(model_id='sam2-hiera-large', " + ", ".join(f"option_{n}=None" for n in range(20)) + ")"
    )
    found = read_page(f'<h3 id="a"><code class="highlight language-python">{signature}</code></h3>')
    assert found == [Heading(3, "SamGeo2.__init__(…)", "a"), Block("code", signature, "python")]


def test_an_editor_of_markdown_exec_is_its_code() -> None:
    bar = '<div class="pyodide-editor-bar"><span class="pyodide-bar-item">{}</span></div>'
    editor = f'{bar.format("Run")}<div><pre class="pyodide-editor">f()</pre></div>{bar.format("Output")}<pre></pre>'
    assert text_of(f'<div class="pyodide">{editor}</div>') == "```\nf()\n```"


def test_code_of_which_each_line_is_a_block_keeps_its_lines_without_their_numbers() -> None:
    """The HTML is that of Expressive Code, which formats code on sites of Starlight."""
    number = '<div class="gutter"><div class="ln" aria-hidden="true">1</div></div>'
    lines = ("<span>def</span> <span>a():</span>", "\n", "\n", "<span>  b()</span>")
    code = "".join(f'<div class="ec-line">{number}<div class="code">{line}</div></div>' for line in lines)
    found = text_of(f'<figure class="frame"><pre data-language="py"><code>{code}</code></pre></figure>')
    assert found == "```python\ndef a():\n\n\n  b()\n```"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('<div><input><label for="a">npm</label><input><label for="b">pnpm</label></div><pre>x</pre>', "npm pnpm"),
        (
            '<div role="tablist"><button role="tab">npm</button><button role="tab">pnpm</button></div><pre>x</pre>',
            "npm pnpm",
        ),
        ('<ul><li><button role="tab">npm</button></li><li><button>Copy</button></li></ul><pre>x</pre>', "- npm"),
        ("<p>The field (<label>name</label>).</p><pre>x</pre>", "The field (name)."),
    ],
)
def test_labels_of_tabs_are_words_apart(html: str, expected: str) -> None:
    """As VitePress, sphinx-tabs and Docsy write them."""
    assert text_of(html) == f"{expected}\n\n```\nx\n```"


@pytest.mark.parametrize(
    ("html", "expected"),
    [
        ('a <del class="critic">old</del><ins class="critic">new</ins>.', "a old new."),
        ('<mark class="critic">x</mark><span class="critic comment">why</span>', "x why"),
        ("<del>old</del><ins>new</ins>", "old new"),
        ("fo<ins>o</ins>d, <mark>f</mark><mark>o</mark>od, l<del>l</del>ist", "food, food, llist"),
    ],
)
def test_edits_beside_each_other_are_words_apart(html: str, expected: str) -> None:
    assert text_of(f"<p>{html}</p>") == expected
    assert text_of(f"<table><tr><td>{html}</td></tr></table>") == f"| {expected} |"


def test_lines_of_a_termynal_are_lines() -> None:
    lines = '<span data-ty="input">pip install zoo</span><span data-ty>one<br>two</span><span data-ty></span>'
    assert text_of(f"<div data-termynal>{lines}</div>") == "pip install zoo\none\ntwo"
    assert text_of(f"<table><tr><td>{lines}</td></tr></table>") == "| pip install zoo one two |"


def test_tabs_that_are_not_in_front_are_read() -> None:
    assert text_of('<div role="tabpanel">npm</div><div role="tabpanel" hidden>yarn</div><div hidden>x</div>') == (
        "npm\n\nyarn"
    )


def test_spans_of_an_h1_are_words_apart():
    html = '<h1 id="a"><span class="name clip">Demo Tool</span><span class="text">Made simple</span></h1>'
    assert [item.text for item in read_page(html)] == ["Demo Tool Made simple"]
    assert [item.text for item in read_page("<h2><span>Re</span><span>use</span></h2>")] == ["Reuse"]


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ('<h1 id="x"><a href="/"><img alt="Acme logo" src="a.svg"></a></h1>', "Acme logo"),
        ('<h1 id="x"><img alt="Acme logo" src="a.svg"> Acme</h1>', "Acme"),
    ],
)
def test_a_logo_names_a_heading_that_has_no_other_text(html, text):
    assert [item.text for item in read_page(html) if isinstance(item, Heading)] == [text]


def test_lists_of_the_pages_with_a_tag_are_excluded():
    found = read_page(
        '<h1 id="tags">Tags</h1><h2 id="tag:cuda"><span class="md-tag">CUDA</span></h2>'
        '<ul><li><a href="../gpu/">GPU</a></li>'
        '<li style="list-style-type:none"><h3 id="label-old"><span class="md-tag">CUDA/Old</span>'
        '<a class="headerlink" href="#label-old">¶</a></h3></li></ul>'
        '<h2 id="c"><span class="md-tag">C#</span><a class="headerlink" href="#c">#</a></h2>'
        '<h2 id="tag:x">Own heading</h2><h2 id="own">Own <span class="md-tag">new</span></h2>'
    )
    headings = [(item.anchor, item.excluded) for item in found if isinstance(item, Heading)]
    assert headings == [
        ("tags", False),
        ("tag:cuda", True),
        ("label-old", True),
        ("c", True),
        ("tag:x", False),
        ("own", False),
    ]
