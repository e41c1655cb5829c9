"""A real `serve` in a separate process: the search answers, and keeps answering."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from tests.integration.sites import ENGINES, QUIET, DocsSite
from tests.ports import reserved_port

PATIENCE_SECONDS = 90


class Server:
    """A running `serve` and its output so far."""

    def __init__(self, process, port):
        self.process = process
        self.port = port
        self.lines = []
        self.reader = threading.Thread(target=lambda: self.lines.extend(process.stdout), daemon=True)
        self.reader.start()

    @property
    def output(self):
        return "".join(self.lines)

    def get(self, path, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body=body)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    def search(self, text, mount="/"):
        status, _, body = self.get(f"{mount}-/semsearch/api/v1/search?q={quote(text)}&mode=lexical")
        assert body.startswith(b"{"), f"{body!r}\n{self.output}"
        return status, json.loads(body)

    def finds(self, text, path, mount="/"):
        status, body = self.search(text, mount)
        return status == 200 and path in [result["page"]["path"] for result in body["results"]]

    def wait(self, condition):
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            assert self.process.poll() is None, self.output
            assert "Traceback" not in self.output, self.output
            try:
                if condition():
                    return
            except OSError:
                pass
            time.sleep(0.1)
        pytest.fail(f"nothing happened in {PATIENCE_SECONDS} s:\n{self.output}")


@contextmanager
def serving(site, *arguments, engine="mkdocs"):
    with reserved_port() as port:
        command = [sys.executable, "-m", engine, "serve", "-f", str(site.write_config()), "-a", f"127.0.0.1:{port}"]
        process = subprocess.Popen(
            [*command, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=site.root,
            env=os.environ | QUIET,
            # Processes that a shell starts in the background ignore interrupts, and so would their children.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        server = Server(process, port)
        try:
            yield server
        finally:
            process.terminate()
            process.wait(PATIENCE_SECONDS)
            server.reader.join(PATIENCE_SECONDS)
            process.stdout.close()


@pytest.fixture
def site(tmp_path):
    pages = {"index.md": "# Welcome\n\nStart here.\n", "tokens.md": "# Tokens\n\nRotate API tokens every month.\n"}
    return DocsSite(tmp_path).write(pages)


def test_a_job_begins_when_no_other_thread_can_be_loading_the_same_packages():
    """Two threads that import one package at once may see partly initialised modules; a query then got a 500."""
    code = """
import sys, threading
from mkdocs_semsearch.plugin.preview import Preview
done, preview = threading.Event(), Preview()
def job(progress):
    module = sys.modules.get("mkdocs_semsearch.serving.app")
    print(module and hasattr(module, "create_app"))
    done.set()
    raise SystemExit
preview.submit(job)
done.wait(90)
preview.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ | QUIET)
    assert done.stdout.strip() == "True", done.stdout + done.stderr


@pytest.mark.parametrize("engine", ENGINES)
def test_answers_and_follows_edits(site, engine):
    with serving(site, engine=engine) as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        site.write({"index.md": "# Welcome\n\nThe wombat has moved in.\n"})
        answers = []

        def found():
            answers.append(server.search("tokens")[0])
            return server.finds("wombat", "index.md")

        server.wait(found)
        assert set(answers) == {200}
        site.write({"new.md": "# Brand new\n\nAn echidna.\n"})
        server.wait(lambda: server.finds("echidna", "new.md"))
        assert not site.index_dir.exists()


def test_a_saved_file_of_synonyms_takes_effect(site):
    site.options["synonyms"] = "words.yml"
    (site.root / "words.yml").write_text("pat: tokens\n")
    with serving(site) as server:
        server.wait(lambda: server.finds("pat", "tokens.md"))
        (site.root / "words.yml").write_text("credentials: tokens\n")
        server.wait(lambda: server.finds("credentials", "tokens.md"))


def test_pages_of_earlier_builds_are_freed(site):
    site.add_hook(
        "import gc\nfrom mkdocs.structure.pages import Page\n"
        "def on_pre_build(config):\n"
        "    print('pages in memory:', sum(type(thing) is Page for thing in gc.get_objects()), flush=True)\n"
    )
    words, pages = ("wombat", "echidna", "quokka", "kowari", "dunnart"), 20
    site.write({f"page{number}.md": f"# Page {number}\n\nText.\n" for number in range(pages)})
    with serving(site) as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        for word in words:
            site.write({"index.md": f"# Welcome\n\nThe {word} has moved in.\n"})
            server.wait(lambda word=word: server.finds(word, "index.md"))
    counts = [int(count) for count in re.findall(r"pages in memory: (\d+)", server.output)]
    assert len(counts) == 1 + len(words)
    assert counts[-1] < 3 * pages, counts


def test_answers_while_a_rebuild_is_running(site):
    site.add_hook(
        "import time\nfrom pathlib import Path\n"
        "def on_pre_build(config):\n"
        "    here = Path(config.config_file_path).parent\n"
        "    while (here / 'hold').exists():\n"
        "        time.sleep(0.05)\n"
    )
    with serving(site) as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        (site.root / "hold").touch()
        site.write({"index.md": "# Welcome\n\nThe wombat has moved in.\n"})
        server.wait(lambda: server.output.count("Building documentation") == 2)
        assert server.finds("tokens", "tokens.md")
        assert not server.finds("wombat", "index.md")
        assert server.output.count("Documentation built") == 1
        (site.root / "hold").unlink()
        server.wait(lambda: server.finds("wombat", "index.md"))


def test_whole_api_answers_on_the_sites_origin(site):
    site.config["site_url"] = "https://example.org/docs/v1/"
    mount = "/docs/v1/"
    with serving(site) as server:
        server.wait(lambda: server.finds("tokens", "tokens.md", mount))
        api = f"{mount}-/semsearch"
        status, headers, body = server.get(f"{api}/api/v1/search", "POST", json.dumps({"query": "tokens"}))
        assert (status, headers["content-type"]) == (200, "application/json")
        assert json.loads(body)["results"][0]["page"]["path"] == "tokens.md"
        assert server.get(f"{api}/api/v1/search", "POST", "{}")[0] == 422
        assert server.get(f"{api}/api/v1/search", "POST", "x" * 100_000)[0] == 413
        assert server.get(f"{api}/readyz")[0] == 200
        assert server.get(f"{api}/nothing")[0] == 404
        assert server.get(f"{api}/api/v1/pages/tokens.md")[0] == 200
        assert server.get(f"{mount}-/semsearchers")[0] == 404
        assert server.get(f"{mount}tokens/")[0] == 200
        config = json.loads(server.get(f"{mount}assets/semsearch/config.json")[2])
        assert config["api_url"] == api
        assert server.get(f"{api}/api/v1/search?q=tokens")[1]["cache-control"] == "no-store"


def test_the_preview_overrides_a_configured_api_url(site):
    site.options["api_url"] = "https://search.example.org"
    with serving(site) as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        assert json.loads(server.get("/assets/semsearch/config.json")[2])["api_url"] == "/-/semsearch"


def test_the_box_knows_the_languages_of_the_pages_also_while_a_new_index_is_built(site):
    site.write({"start.md": "---\nlanguage: de\n---\n# Willkommen\n\nHier beginnt die Anleitung.\n"})
    with serving(site) as server:

        def settings():
            config = json.loads(server.get("/assets/semsearch/config.json")[2])
            return config.get("languages"), "page.language" in [facet["name"] for facet in config["facets"]]

        server.wait(lambda: settings() == (["de", "en"], True))
        site.write({"index.md": "# Welcome\n\nThe wombat has moved in.\n"})
        answers = []

        def found():
            answers.append(settings())
            return server.finds("wombat", "index.md")

        server.wait(found)
        assert all(answer == (["de", "en"], True) for answer in answers), answers


def test_drafts_are_found_in_the_preview_only(site):
    site.config["draft_docs"] = "draft.md\n"
    site.write({"draft.md": "# Draft\n\nA numbat.\n"})
    with serving(site) as server:
        server.wait(lambda: server.finds("numbat", "draft.md"))
    assert not site.index_dir.exists()
    site.build()
    assert "draft.md" not in site.paths()


def test_two_configuration_files_have_two_indexes(site):
    internal = site.root / "internal.yml"
    internal.write_bytes(site.write_config().read_bytes())
    for arguments in ((), ("-f", str(internal))):
        with serving(site, *arguments) as server:
            server.wait(lambda server=server: server.finds("tokens", "tokens.md"))
    folders = (site.root / ".cache" / "plugin" / "semsearch").glob("preview*")
    assert sorted(folder.name for folder in folders) == ["preview", "preview-internal"]


def test_dirty_rebuild_keeps_the_other_pages(site):
    with serving(site, "--dirty") as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        site.write({"index.md": "# Welcome\n\nThe wombat has moved in.\n"})
        server.wait(lambda: server.finds("wombat", "index.md"))
        assert server.finds("tokens", "tokens.md")


def test_serve_with_clean_is_a_preview(site):
    with serving(site, "--clean") as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        assert not site.index_dir.exists()


def test_broken_build_does_not_stop_the_search(site):
    with serving(site) as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        config = site.root / "mkdocs.yml"
        good = config.read_text(encoding="utf-8")
        config.write_text(good.replace("semsearch: {}", "semsearch: {graph: hnsw}"), encoding="utf-8")
        server.wait(lambda: "An error happened during the rebuild" in server.output)
        assert "but received: 'hnsw'" in server.output
        assert server.finds("tokens", "tokens.md")
        config.write_text(good, encoding="utf-8")
        site.write({"index.md": "# Welcome\n\nThe wombat has moved in.\n"})
        server.wait(lambda: server.finds("wombat", "index.md"))


def test_failing_embedder_leaves_the_preview_alive(site):
    site.word_hash = False
    site.options["embedder"] = {"model": "./no-such-model"}
    with serving(site, "--strict") as server:
        server.wait(lambda: "no-such-model" in server.output)
        server.wait(lambda: server.get("/tokens/")[0] == 200)
        status, body = server.search("tokens")
        assert (status, body["error"]["code"]) == (503, "no_index")
        assert "could not be built" in body["error"]["message"]
        assert "Traceback" not in server.output


def test_a_cache_folder_that_cannot_be_written_does_not_cost_the_search(site, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    (site.root / ".cache" / "plugin").mkdir(parents=True)
    (site.root / ".cache" / "plugin" / "semsearch").write_text("no folder", encoding="utf-8")
    with serving(site) as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        site.write({"index.md": "# Welcome\n\nThe wombat has moved in.\n"})
        server.wait(lambda: server.finds("wombat", "index.md"))
        assert len(re.findall("WARNING .*cache_dir", server.output)) == 1
        assert any(temporary.glob("semsearch-*/preview"))
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(PATIENCE_SECONDS) == 0
    assert not any(temporary.iterdir())


@pytest.mark.parametrize("engine", ENGINES)
def test_says_why_nothing_answers_without_live_reload(site, engine):
    with serving(site, "--no-livereload", engine=engine) as server:
        server.wait(lambda: "Serving on" in server.output)
        assert len(re.findall("does not work in this preview", server.output)) == 1
        assert server.get("/-/semsearch/healthz")[0] == 404


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("before", ["", "- semsearch: {enabled: false}"], ids=["absent", "not enabled"])
def test_a_plugin_added_to_a_running_preview_says_so_and_writes_no_index(site, before, engine, monkeypatch):
    site.word_hash = False  # its hook needs the plugin
    config = site.write_config()
    complete = config.read_text(encoding="utf-8")
    monkeypatch.setattr(site, "write_config", lambda: config)
    config.write_text(complete.replace("- semsearch: {}", before), encoding="utf-8")
    with serving(site, engine=engine) as server:
        server.wait(lambda: server.get("/tokens/")[0] == 200)
        config.write_text(complete, encoding="utf-8")
        server.wait(lambda: server.output.count("Reloading browsers") == 1)
        site.write({"index.md": "# Welcome\n\nThe wombat has moved in.\n"})
        server.wait(lambda: server.output.count("Reloading browsers") == 2)
        assert json.loads(server.get("/assets/semsearch/config.json")[2])["static"] == "auto"  # as in a build
    assert server.output.count("start `mkdocs serve` again") == 1
    assert not site.index_dir.exists()


def test_ends_on_interrupt(site):
    with serving(site) as server:
        server.wait(lambda: server.finds("tokens", "tokens.md"))
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(PATIENCE_SECONDS) == 0
    assert "Traceback" not in server.output


@pytest.mark.model
@pytest.mark.slow
def test_meaning_is_found_with_the_real_model(site, encoder_cache):
    site.word_hash = False
    site.options["embedder"] = {"cache_dir": str(encoder_cache)}
    site.write({"backup.md": "# Backup\n\nCopy the database to another disk every night.\n"})

    with serving(site) as server:

        def found():
            question = quote("how do I avoid losing my data")
            status, _, body = server.get(f"/-/semsearch/api/v1/search?q={question}&mode=semantic")
            return status == 200 and json.loads(body)["results"][0]["page"]["path"] == "backup.md"

        server.wait(found)
