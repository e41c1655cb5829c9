"""The size of the published scripts that readers download, compressed as by servers."""

from __future__ import annotations

import gzip
import json
import re
import shutil
from pathlib import Path

import pytest

from mkdocs_semsearch.site.widget_files import publish_assets
from mkdocs_semsearch.theme_files import widget_strings

ASSETS = Path(__file__).parents[3] / "theme" / "assets" / "semsearch"
EVERY_PAGE = {"semsearch.js", "semsearch.css"}
# Loaded when they are needed, or beside the dialog once it is open.
BESIDE = {"start.js", "facets.js", "panels.css", "suggest.js", "values.js", "why.js"}
LATER = BESIDE | {
    "chips.js",
    "empty.js",
    "fallback.js",
    "insights.js",
    "failover.js",
    "mode.js",
    "more.js",
    "notice.js",
    "paste.js",
    "preview.css",
    "preview.js",
    "ranges.js",
    "rare.js",
    "returned.js",
    "sheet.css",
    "sheet.js",
    "translations.js",
}
# Loaded by the results page only.
PAGE = {"page.js", "page.css", "plain.css"}


@pytest.fixture(scope="module")
def compressed(tmp_path_factory):
    """Returns `compressed(names) -> bytes`, of the scripts in a built site."""
    site = tmp_path_factory.mktemp("site") / "assets"
    shutil.copytree(ASSETS, site)
    publish_assets(site, ASSETS)
    return lambda names: sum(len(gzip.compress((site / name).read_bytes(), 9)) for name in names)


def test_every_page_loads_at_most_4_kb(compressed):
    assert compressed(EVERY_PAGE) <= 4_000


def test_the_dialog_is_at_most_20_kb(compressed):
    assert compressed({"dialog.js", "dialog.css"}) <= 20_000


def test_scripts_loaded_after_the_dialog_on_first_use_are_at_most_8500_bytes(compressed):
    assert compressed(BESIDE) <= 8_500


def test_no_module_has_300_lines():
    long = [path.name for path in ASSETS.rglob("*.js") if len(path.read_text("utf-8").splitlines()) >= 300]
    assert long == []


def test_the_engine_of_sites_without_a_server_is_at_most_30_kb(compressed):
    assert compressed({f"static/{name}.js" for name in ("engine", "worker")}) <= 30_000


def test_modules_loaded_later_are_small_and_loaded_by_a_script(compressed):
    loaded = {
        name for path in ASSETS.glob("*.js") for name in re.findall(r'"(?:\./)?(\w+\.js)"', path.read_text("utf-8"))
    }
    assert {name for name in LATER if name.endswith(".js")} <= loaded
    assert all(compressed({name}) <= 2_500 for name in LATER | PAGE)


def test_nothing_is_evaluated_or_parsed_as_markup():
    forbidden = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|https?://(?!www\.w3\.org)"
    )
    found = [(path.name, forbidden.findall(path.read_text("utf-8"))) for path in ASSETS.rglob("*.js")]
    assert [item for item in found if item[1]] == []


def test_translations_have_the_keys_of_the_english_strings():
    english = {"needs_script": "This search needs JavaScript."}  # of search/index.html
    for path in ASSETS.rglob("*.js"):
        for block in re.findall(r"const ENGLISH = \{(.*?)\};", path.read_text("utf-8"), re.DOTALL):
            english |= dict(re.findall(r'^  (\w+): "(.*)",$', block, re.MULTILINE))
    assert json.loads((ASSETS / "strings/en.json").read_text("utf-8")) == english
    for path in (ASSETS / "strings").glob("*.json"):
        strings = json.loads(path.read_text("utf-8"))
        missing = {key for key in english if not key.endswith("_one")} - set(strings)
        assert not missing, path.name
        for key, text in strings.items():
            expected = english[key] if key in english else english[f"{key.rpartition('_')[0]}_other"]
            extra = set(re.findall(r"\{\w+\}", text)) - set(re.findall(r"\{\w+\}", expected))
            assert not extra, f"{path.name}: {key}"


def test_every_translation_is_loaded():
    translated = {path.stem for path in (ASSETS / "strings").glob("*.json")} - {"en"}
    listed = re.search(r"const LANGUAGES = (\[.*\]);", (ASSETS / "ui.js").read_text("utf-8"))
    assert set(json.loads(listed[1])) == translated >= {"ko", "pt", "ru"}


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("de_CH", "de"),
        ("zh-CN", "zh"),
        ("zh-TW", "zh-hant"),
        ("zh_Hant_HK", "zh-hant"),
        ("zh-Hans-HK", "zh"),
        ("../zh", "en"),
        ("x", "en"),
    ],
)
def test_a_language_has_the_texts_of_its_tag(language, code):
    assert widget_strings(language)[0] == code


@pytest.mark.parametrize(("tag", "forms"), [("ru", {"one", "few", "many", "other"}), ("pt", {"one", "many", "other"})])
def test_translations_have_the_plural_forms_of_their_language(tag, forms):
    strings = json.loads((ASSETS / f"strings/{tag}.json").read_text("utf-8"))
    for name in ("count", "show"):
        found = {key.removeprefix(f"{name}_") for key in strings if key.startswith(f"{name}_")}
        assert found - {"all", "better"} == forms


def test_no_line_breaks_before_french_punctuation():
    strings = json.loads((ASSETS / "strings/fr.json").read_text("utf-8"))
    assert [text for text in strings.values() if re.search(" [:;?!»]|« ", text)] == []
