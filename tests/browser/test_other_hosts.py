"""The widget where the plugin does not run: a site of Zensical, a page of plain HTML, folders of versions."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from mkdocs_semsearch.cli import main
from tests.browser.asking import DIALOG, INPUT, OPTION, put_question, type_question
from tests.integration.sites import QUIET, DocsSite, installed

from .conftest import CONFIG, DOCS, ROOT

pytestmark = pytest.mark.browser

ASSETS = ROOT / "theme" / "assets" / "semsearch"


def ask(page, url, query):
    page.goto(url)
    page.keyboard.press("Control+k")
    put_question(page, query)


@pytest.fixture(scope="module")
def zensical_site(tmp_path_factory):
    """Built by Zensical, indexed and given the widget by the command line."""
    root = tmp_path_factory.mktemp("zensical")
    for name, text in DOCS.items():
        file = root / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    config = {
        "site_name": "Test site",
        "site_url": "https://example.org/docs/",
        "theme": {"name": "material", "font": False, "features": ["search.highlight"]},
        "plugins": ["search", {"semsearch": {"facets": {"tags": {"type": "list", "label": "Tags"}}}}],
        "extra_javascript": ["assets/semsearch/semsearch.js"],
        "extra_css": ["assets/semsearch/semsearch.css"],
    }
    (root / "mkdocs.yml").write_text(yaml.safe_dump(config), encoding="utf-8")
    run = {"cwd": root, "env": os.environ | QUIET, "check": True, "capture_output": True}
    subprocess.run([sys.executable, "-m", "zensical", "build", "-f", "mkdocs.yml"], **run)
    index = "from mkdocs_semsearch.cli import main; from tests.word_hash import WordHashEmbedder; "
    index += "import mkdocs_semsearch.site.built_site as it; "
    index += "it.open_configured_embedder = lambda settings: WordHashEmbedder(); "
    index += "assert main(['index', 'site', '--widget']) == 0"
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    subprocess.run([sys.executable, "-c", index], **(run | {"env": os.environ | QUIET | {"PYTHONPATH": path}}))
    return root / "site"


@installed("zensical")
def test_a_site_of_zensical(page, zensical_site, serving):
    with serving.SiteServer(zensical_site, mount="/docs/") as server:
        page.goto(server.url)
        page.locator(".md-search__button").first.click()
        page.locator(INPUT).wait_for()
        type_question(page, "rotate token")
        assert page.locator("dialog[open]").count() == 1
        page.locator("#semsearch-facets").get_by_label("security").wait_for()
        page.keyboard.press("Enter")
        page.wait_for_url("**/docs/guide/auth/**")
        assert page.url.endswith("#tokens")
        assert page.problems == []


@installed("zensical")
def test_a_site_of_zensical_searches_its_own_index_while_the_sidecar_is_gone(page, zensical_site, serving):
    with serving.SiteServer(zensical_site, mount="/docs/") as server:
        server.sidecar.alive = False
        ask(page, server.url + "guide/auth/", "unauthorized")
        assert page.locator("[data-semsearch=mode]").is_visible()
        assert page.locator(OPTION).first.get_attribute("href").startswith(server.url + "reference/errors/")


@installed("zensical")
def test_a_site_of_zensical_has_a_results_page(page, zensical_site, serving):
    with serving.SiteServer(zensical_site, mount="/docs/") as server:
        page.goto(server.url + "search/?query=rotate+token")
        page.locator(OPTION).first.wait_for()
        assert page.locator("semsearch-page").count() == 1


def test_a_page_of_plain_html_with_one_script_tag(page, serving, tmp_path):
    shutil.copytree(ASSETS, tmp_path / "assets/semsearch")
    (tmp_path / "assets/semsearch/config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "guide/auth").mkdir(parents=True)
    html = (
        "<!doctype html><html lang=de><meta charset=utf-8><title>Plain</title><link rel=icon href=/icon.png>"
        '<h1 id="tokens">{}</h1><script src="{}assets/semsearch/semsearch.js" defer></script>'
    )
    (tmp_path / "index.html").write_text(html.format("Start", ""))
    (tmp_path / "guide/auth/index.html").write_text(html.format("Ziel", "../../"))
    (tmp_path / "icon.png").touch()
    with serving.SiteServer(tmp_path, csp=serving.CSP.format(api="")) as server:
        page.goto(server.url)
        page.get_by_role("button", name="Search").click()  # its style sheet is loaded by the script
        page.locator(INPUT).wait_for()
        type_question(page, "rotate token")
        page.keyboard.press("Enter")
        page.wait_for_url("**/guide/auth/#tokens")
        assert page.locator("h1").inner_text() == "Ziel"
        assert page.problems == []


def test_the_results_page_of_plain_html_searches_without_a_server(page, serving, tmp_path):
    site = tmp_path / "site"
    (site / "animals").mkdir(parents=True)
    html = "<!doctype html><html lang=en><meta charset=utf-8><title>{0}</title><h1 id=a>{0}</h1><p>{1}</p>"
    (site / "index.html").write_text(html.format("Zoo", "All the animals."))
    (site / "animals/index.html").write_text(html.format("Animals", "Feed kangaroos twice a day."))
    assert main(["index", str(site), "--index", str(tmp_path / "index"), "--widget", "--static"]) == 0
    with serving.SiteServer(site) as server:
        server.sidecar.alive = False
        page.goto(server.url + "search/?query=kangaroos")
        page.locator(OPTION).first.wait_for()
        assert page.locator(OPTION).first.get_attribute("href").startswith(server.url + "animals/")


def deployed(root, **options):
    """The files that mike publishes: two versions and an alias, from its branch."""
    site = DocsSite(root / "repository", config={"theme": {"name": "mkdocs", "highlightjs": False}})
    site.options = {"facets": {"tags": {"type": "list"}}, **options}
    site.root.mkdir()
    who = {f"GIT_{role}_{what}": "test@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    programs = Path(sys.executable).parent
    paths = os.pathsep.join([str(programs), os.environ["PATH"]])
    run = {"cwd": site.root, "check": True, "capture_output": True, "env": os.environ | QUIET | who | {"PATH": paths}}
    subprocess.run(["git", "init", "-q"], **run)
    subprocess.run(["git", "commit", "-q", "--allow-empty", "-m", "mike wants one"], **run)
    for version, aliases in [("1.0", []), ("2.0", ["latest"])]:
        site.write({"index.md": "# Home\n", "guide/auth.md": f"# Version {version}\n\n## Tokens\n\nRotate it.\n"})
        site.write_config()
        subprocess.run([programs / "mike", "deploy", version, *aliases], **run)
    subprocess.run(["git", "worktree", "add", "-q", root / "online", "gh-pages"], **run)
    return root / "online"


@pytest.fixture(scope="module")
def versions(tmp_path_factory):
    return deployed(tmp_path_factory.mktemp("mike"), api_url="/search/{version}/-/semsearch")


@installed("mike")
@pytest.mark.parametrize(("folder", "version"), [("1.0", "1.0"), ("2.0", "2.0"), ("latest", "2.0")])
def test_versions_of_mike_stay_among_themselves(page, versions, serving, folder, version):
    with serving.SiteServer(versions, mount="/docs/") as server:
        config = json.loads((versions / folder / "assets/semsearch/config.json").read_text())
        assert config["api_url"] == f"/search/{version}/-/semsearch"
        ask(page, f"{server.url}{folder}/", "rotate token")
        assert all(path.startswith(f"/search/{version}/-/semsearch/") for path in server.sidecar.requests)
        link = page.locator(OPTION).first.get_attribute("href")
        assert link == f"{server.url}{folder}/guide/auth/#tokens"
        page.keyboard.press("Enter")
        page.wait_for_url(link)
        assert page.locator("h1").first.inner_text() == f"Version {version}"
        page.goto(f"{server.url}{folder}/search/?query=rotate+token")
        page.locator(OPTION).first.wait_for()
        assert page.locator(OPTION).first.get_attribute("href") == link


@installed("mike")
def test_the_address_of_a_version_ends_in_a_slash(versions):
    """mike appends the version to `site_url` after MkDocs has added the slash."""
    manifest = json.loads((versions.parent / "repository/semsearch-index/manifest.json").read_text())
    assert manifest["site_url"] == "https://example.org/2.0/"


@installed("mike")
def test_versions_of_mike_have_a_static_search_each(page, serving, tmp_path):
    online = deployed(tmp_path, static=True)
    with serving.SiteServer(online, mount="/docs/") as server:
        for folder, version in [("1.0", "1.0"), ("2.0", "2.0"), ("latest", "2.0")]:
            with page.expect_request(f"{server.url}{folder}/semsearch/static-*/core.bin"):
                ask(page, f"{server.url}{folder}/", f"version {version}")
            page.locator(
                "[data-mode=degraded]"
            ).wait_for()  # this site has words only; the theme's index may answer first
            links = [option.get_attribute("href") for option in page.locator(OPTION).all()]
            assert links
            assert all(link.startswith(f"{server.url}{folder}/") for link in links)
            page.keyboard.press("Enter")
            page.wait_for_url(links[0])
            assert page.locator("h1").first.inner_text() == f"Version {version}"
        assert server.sidecar.requests == []
    assert {path.parent.parent.name for path in online.glob("*/semsearch/static.json")} == {"1.0", "2.0", "latest"}


def test_the_question_joins_an_address_whose_path_begins_with_two_slashes(page, build_site, serving):
    with serving.SiteServer(build_site("mkdocs")) as server:
        address = f"{server.origin}//guide/auth/"
        page.goto(address)
        page.keyboard.press("Control+k")
        put_question(page, "token")
        page.wait_for_function(f"location.href === '{address}#semsearch=token'")
        page.locator("[data-semsearch=preview] .ss-title").wait_for()  # parts that are loaded after the address changes
        page.keyboard.press("Escape")
        page.wait_for_function(f"location.href === '{address}'")
        assert page.problems == []


def test_on_a_phone_a_page_with_a_base_keeps_its_address(phone, configure, serving):
    site = configure()
    index = site / "index.html"
    html = index.read_text().replace('="assets/', '="/assets/')
    index.write_text(html.replace("<head>", '<head><base href="/guide/auth/">'))
    with serving.SiteServer(site) as server:
        phone.goto(server.url)
        phone.evaluate("semsearch.open()")
        phone.locator(DIALOG).wait_for()
        assert phone.url == f"{server.url}#semsearch="


def test_a_query_in_an_address_whose_path_begins_with_two_slashes_opens_the_dialog(page, build_site, serving):
    with serving.SiteServer(build_site("material")) as server:
        page.goto(f"{server.origin}//guide/auth/?q=token")
        page.locator(OPTION).first.wait_for()
        assert page.url == f"{server.origin}//guide/auth/#semsearch=token"
        assert page.problems == []
