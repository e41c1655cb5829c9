"""The widget's scripts in a built site: few files with the same exports as the sources."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from mkdocs_semsearch.site.widget_files import ENTRIES, publish_assets
from tests.static_engine import node

ASSETS = Path(__file__).parents[3] / "theme" / "assets" / "semsearch"
IMPORT = re.compile(r'^import .*?"(\.[^"]+)";$', re.MULTILINE)


@pytest.fixture(scope="module")
def joined(tmp_path_factory):
    site = tmp_path_factory.mktemp("site") / "assets"
    shutil.copytree(ASSETS, site)
    publish_assets(site, ASSETS)
    return site


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_imports_nothing(joined, entry):
    assert IMPORT.findall((joined / entry).read_text("utf-8")) == []


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_two_modules_of_an_entry_export_the_same_name(joined, entry):
    lists = re.findall(r"^export const \{ (.+) \} =", (joined / entry).read_text("utf-8"), re.MULTILINE)
    names = Counter(name for text in lists for name in text.split(", "))
    assert names
    assert {name for name, count in names.items() if count > 1} == set()


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_a_module_that_node_can_read(joined, entry, tmp_path):
    copy = tmp_path / "entry.mjs"
    copy.write_bytes((joined / entry).read_bytes())
    done = subprocess.run([node(), "--check", copy], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_modules_loaded_later_import_existing_files(joined):
    for path in joined.rglob("*.js"):
        for address in IMPORT.findall(path.read_text("utf-8")):
            assert (path.parent / address).is_file(), f"{path.name}: {address}"


def test_modules_loaded_later_import_from_the_joined_dialog(joined):
    assert set(IMPORT.findall((joined / "start.js").read_text("utf-8"))) == {"./dialog.js"}
    assert set(IMPORT.findall((joined / "static/engine.js").read_text("utf-8"))) == {"../dialog.js"}
    assert set(IMPORT.findall((joined / "empty.js").read_text("utf-8"))) == {"./dialog.js"}


def test_a_module_that_is_imported_at_run_time_imports_at_most_the_dialog(joined):
    """Firefox does not request a module again that it could not get for another one."""
    texts = {path: path.read_text("utf-8") for path in joined.rglob("*.js")}
    imported = {
        path.parent / name
        for path, text in texts.items()
        for name in re.findall(r'(?:resolve|later)\("\./([\w/]+\.js)"', text)
    }
    assert {path.name for path in imported} >= {"chips.js", "empty.js", "preview.js", "paste.js", "phrases.js"}
    for path in imported:
        assert {(path.parent / address).resolve() for address in IMPORT.findall(texts[path])} <= {joined / "dialog.js"}


def test_no_comment_is_published(joined):
    comment = re.compile(r"(?:^|\s)(?://|/\*) .*", re.MULTILINE)
    assert {
        path.name: found for path in joined.rglob("*.js") if (found := comment.findall(path.read_text("utf-8")))
    } == {}


def test_node_can_read_every_published_script(joined):
    for path in joined.rglob("*.js"):
        done = subprocess.run([node(), "--input-type=module", "--check"], input=path.read_bytes(), capture_output=True)
        assert done.returncode == 0, (path.name, done.stderr)


def test_neither_indentation_nor_empty_lines_are_published(joined):
    assert [
        path.name for path in joined.rglob("*.js") if re.search(r"^\s", path.read_text("utf-8"), re.MULTILINE)
    ] == []


def is_valid(text, tmp_path):
    script = tmp_path / "script.mjs"
    script.write_text(text, encoding="utf-8")
    return subprocess.run([node(), "--check", script], capture_output=True).returncode == 0


def test_no_template_literal_has_several_lines(joined, tmp_path):
    """It would lose its indentation. What is added to each line is a comment in code, and an error in a literal."""
    added = "/*\\u*/\n"
    assert not is_valid("const text = `one\n  two`;\n".replace("\n", added), tmp_path)
    for path in joined.rglob("*.js"):
        assert is_valid(path.read_text("utf-8").replace("\n", added), tmp_path), path.name


def test_joining_again_changes_nothing(joined):
    before = {path: path.read_bytes() for path in joined.rglob("*.js")}
    publish_assets(joined, ASSETS)
    assert {path: path.read_bytes() for path in joined.rglob("*.js")} == before


def test_a_file_that_the_site_lacks_stays_out(tmp_path):
    shutil.copy(ASSETS / "dialog.js", tmp_path)
    publish_assets(tmp_path, ASSETS)
    assert [path.name for path in tmp_path.iterdir()] == ["dialog.js"]
    assert "export const" in (tmp_path / "dialog.js").read_text("utf-8")


def test_a_file_of_the_site_itself_stays_as_it_is(tmp_path):
    shutil.copytree(ASSETS, tmp_path, dirs_exist_ok=True)
    own = {tmp_path / "mode.js": "// Mine.\nexport const fill = () => {};\n", tmp_path / "dialog.css": "/* mine */\n"}
    for path, text in own.items():
        path.write_text(text, encoding="utf-8")
    (tmp_path / "dialog.js").write_text("// Nothing can be imported from this.\n", encoding="utf-8")
    publish_assets(tmp_path, ASSETS)
    assert "export const" in (tmp_path / "dialog.js").read_text("utf-8")
    assert {path: path.read_text("utf-8") for path in own} == own
    assert "/*" not in (tmp_path / "semsearch.css").read_text("utf-8")


def test_a_changed_source_is_joined_again(tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(ASSETS, source)
    shutil.copytree(ASSETS, site)
    publish_assets(site, source)
    with (source / "dialog.js").open("a", encoding="utf-8") as script:
        script.write("export const added = 1;\n")
    shutil.copy(source / "dialog.js", site)
    publish_assets(site, source)
    assert "const added = 1;" in (site / "dialog.js").read_text("utf-8")


def test_sources_with_line_ends_of_windows_are_published_alike(joined, tmp_path):
    source, site = tmp_path / "source", tmp_path / "site"
    shutil.copytree(ASSETS, source)
    for path in (*source.rglob("*.js"), *source.rglob("*.css")):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    shutil.copytree(source, site)
    publish_assets(site, source)
    for path in (*joined.rglob("*.js"), *joined.rglob("*.css")):
        assert (site / path.relative_to(joined)).read_text("utf-8") == path.read_text("utf-8")
