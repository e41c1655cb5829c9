"""Measures what the plugin adds to a build: beside pure encoding, on a rebuild, after an edit, on disk, and at import.

The plugin's own share is the time inside its hooks and its import, in a fresh process for each build; builds of a kind
take turns, medians are taken. Of a first build it is the time beyond that of MkDocs, because then texts are encoded
while MkDocs renders pages. Pure encoding is a fresh process that does nothing else. Once it is
`SentenceTransformer.encode` with the text of every chunk, and once the encoder of the build with all that a first build
encodes: every distinct text and every distinct heading path.

    python benchmarks/build_cost.py SITE/mkdocs.yml --json build_cost.json     without a site: example-site
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml
from build_and_serve import ROOT, edit_one_section, write_config
from preview import wait_for

IMPORTS = 15
HOOKS = (
    "on_startup", "on_config", "on_pre_build", "on_files", "on_nav", "on_page_markdown", "on_page_context",
    "on_post_build",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("config", nargs="?", type=Path, default=ROOT / "example-site" / "mkdocs.yml")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--without-torch", action="store_true", help="leave out the long comparison with PyTorch")
    parser.add_argument("--port", type=int, default=8791, help="of the preview")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    parser.add_argument("--child", choices=("build", "torch", "same"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(
            json.dumps({"build": _build, "torch": _encode_with_torch, "same": _encode_alike}[given.child](given.config))
        )
        return
    figures = measure(given.config, rounds=given.rounds, port=given.port, torch=not given.without_torch)
    print(json.dumps(figures, indent=1))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


def measure(config: Path, *, rounds: int, port: int, torch: bool) -> dict[str, Any]:
    """Builds a copy of a site in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        docs = place / "docs"
        shutil.copytree(_docs_dir(config), docs)
        copied = write_config(config, place, plugin=True)
        first = _child("build", copied)
        unchanged, edited = [], []
        for _ in range(rounds):
            unchanged.append(_child("build", copied))
            edit_one_section(docs)
            edited.append(_child("build", copied))
        encodings = {"sentence_transformers": _child("torch", copied)} if torch else {}
        encodings["same_encoder"] = _child("same", copied)
        return {
            "site": config.resolve().parent.name,
            "first": first,
            "pure_encoding": encodings,
            "overhead": {f"over_{name}": _overhead(first, unchanged, found) for name, found in encodings.items()},
            "unchanged": _median(unchanged),
            "edited": _median(edited),
            "edit_in_preview": _preview(copied, docs, port),
            "bytes_a_chunk": _bytes(place / "semsearch-index"),
            "import_ms": _imports(),
        }


def _overhead(first: dict[str, Any], unchanged: list[dict[str, Any]], encoding: dict[str, Any]) -> dict[str, float]:
    """Share of the encoding's time, and of its processor time, that a first build takes longer; less is negative."""
    again = _median(unchanged)
    seconds = first["whole_build_s"] - (again["whole_build_s"] - again["share_s"])
    processor = first["processor_s"] - again["processor_s"]
    return {
        "time": round(seconds / encoding["seconds"] - 1, 3),
        "processor": round(processor / encoding["processor_s"] - 1, 3),
    }


def _docs_dir(config: Path) -> Path:
    found = re.search(r"^docs_dir:\s*(\S+)", config.read_text(encoding="utf-8"), re.MULTILINE)
    return config.parent / (found[1] if found else "docs")


def _child(what: str, config: Path) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, __file__, str(config), "--child", what], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(done.stderr[-3000:])
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def _median(runs: list[dict[str, Any]]) -> dict[str, Any]:
    return sorted(runs, key=lambda run: run["share_s"])[len(runs) // 2]


def _build(config: Path) -> dict[str, Any]:
    """Runs one build in this process; returns the plugin's share of its time."""
    from mkdocs.commands.build import build
    from mkdocs.config import load_config
    from mkdocs.plugins import log

    started = time.perf_counter()
    from mkdocs_semsearch.plugin import hooks as plugin

    spent = [time.perf_counter() - started]
    for name in HOOKS:
        setattr(plugin.SemsearchPlugin, name, _timed(getattr(plugin.SemsearchPlugin, name), spent))
    said: list[str] = []
    # The line that the log would show.
    plugin._log_report = lambda report, warnings, *, strict: said.append(str(report.build))
    log.setLevel("ERROR")
    started = time.perf_counter()
    site = load_config(str(config))
    site.plugins.on_startup(command="build", dirty=False)
    build(site)
    return {
        "share_s": round(sum(spent), 2),
        "whole_build_s": round(time.perf_counter() - started, 2),
        "processor_s": _processor_seconds(),
        "said": said[0],
    }


def _timed(hook: Any, spent: list[float]) -> Any:
    def timed(*arguments: Any, **options: Any) -> Any:
        started = time.perf_counter()
        try:
            return hook(*arguments, **options)
        finally:
            spent.append(time.perf_counter() - started)

    timed.__dict__.update(hook.__dict__)  # the priority is kept there
    return timed


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return round(used.ru_utime + used.ru_stime, 2)


def _headings_and_texts(config: Path) -> list[tuple[str, str]]:
    """Returns the heading path and the text of each chunk, as they are embedded."""
    import pyarrow.parquet as pq

    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.chunking import embedding_text, heading_text

    rows = pq.read_table(open_index(config.parent / "semsearch-index").build_dir / "chunks.parquet").to_pylist()
    paths = [tuple(row["heading_hierarchy"]) for row in rows]
    return [(heading_text(path), embedding_text(path, row["content"])) for path, row in zip(paths, rows, strict=True)]


def _encode_with_torch(config: Path) -> dict[str, Any]:
    from mkdocs_semsearch.embedding.model_files import DEFAULT_MODEL, resolve_model

    texts = [text for _, text in _headings_and_texts(config)]
    started = time.perf_counter()
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(resolve_model(DEFAULT_MODEL)))
    loaded = time.perf_counter()
    model.encode(texts, show_progress_bar=False)
    return _encoding(len(texts), started, loaded)


def _encode_alike(config: Path) -> dict[str, Any]:
    from mkdocs_semsearch.embedding import open_embedder

    chunks = _headings_and_texts(config)
    texts = sorted(dict.fromkeys(itertools.chain.from_iterable(chunks)), key=len)
    started = time.perf_counter()
    encoder = open_embedder()
    encoder.embed(["probe"], "document")
    loaded = time.perf_counter()
    encoder.embed(texts, "document")
    return _encoding(len(chunks), started, loaded)


def _encoding(chunks: int, started: float, loaded: float) -> dict[str, Any]:
    done = time.perf_counter()
    return {
        "seconds": round(done - started, 2),
        "of_these_loading_s": round(loaded - started, 2),
        "processor_s": _processor_seconds(),
        "chunks_per_s": round(chunks / (done - loaded), 1),
    }


def _bytes(index: Path) -> dict[str, Any]:
    from mkdocs_semsearch.artifact import open_index
    from mkdocs_semsearch.cli.text import inspection

    opened = open_index(index)
    found = inspection(opened, verified=False)
    parts = {name: round(size / found["chunks"], 1) for name, size in found["parts"].items() if name != "encoder"}
    return {
        "chunks": found["chunks"],
        **parts,
        "without_encoder": round(sum(parts.values())),
        "text": _text_bytes(opened),
    }


def _text_bytes(index: Any) -> dict[str, float]:
    """The text of a chunk as it is, compressed by itself, and as its column in the table has it."""
    import zlib

    import pyarrow.parquet as pq

    file = pq.ParquetFile(index.build_dir / "chunks.parquet")
    texts = [text.encode() for text in file.read(columns=["content"]).column(0).to_pylist()]
    groups = (file.metadata.row_group(number) for number in range(file.metadata.num_row_groups))
    columns = (group.column(number) for group in groups for number in range(group.num_columns))
    stored = sum(column.total_compressed_size for column in columns if column.path_in_schema == "content")
    return {
        "plain": round(sum(map(len, texts)) / len(texts), 1),
        "zlib": round(sum(len(zlib.compress(text)) for text in texts) / len(texts), 1),
        "stored": round(stored / len(texts), 1),
    }


def _imports() -> dict[str, float]:
    clock = "import time; import mkdocs.plugins{}; t = time.perf_counter(); import mkdocs_semsearch.plugin; "
    clock += "print((time.perf_counter() - t) * 1000)"
    runs: dict[str, list[float]] = {"over_mkdocs_plugins": [], "inside_mkdocs": []}
    for _ in range(IMPORTS):
        for name, also in (("over_mkdocs_plugins", ""), ("inside_mkdocs", ", mkdocs.commands.build")):
            done = subprocess.run(
                [sys.executable, "-c", clock.format(also)], capture_output=True, text=True, check=True
            )
            runs[name].append(float(done.stdout))
    return {name: round(statistics.median(times), 1) for name, times in runs.items()}


def _preview(config: Path, docs: Path, port: int) -> dict[str, Any]:
    """From saving a page under `mkdocs serve` to its new word being found, and what of that is MkDocs' own build."""
    from mkdocs_semsearch.plugin.preview import preview_path

    command = [sys.executable, "-m", "mkdocs", "serve", "--livereload", "-f", str(config), "-a", f"127.0.0.1:{port}"]
    log = config.with_name("serve.log")
    with log.open("w") as stream:
        server = subprocess.Popen(command, stdout=stream, stderr=stream, env=os.environ | {"PYTHONUNBUFFERED": "1"})
    try:
        mount = preview_path(yaml.safe_load(config.read_text(encoding="utf-8")).get("site_url"))
        url = f"http://127.0.0.1:{port}{mount}/api/v1/search"
        wait_for(f"{url}?q=section", lambda body: "results" in json.loads(body))
        times = []
        for number in range(3):
            word = f"zyxword{number}"
            with max(docs.rglob("*.md"), key=lambda path: path.stat().st_size).open("a", encoding="utf-8") as page:
                page.write(f"\n## Saved {word}\n\nThis sentence has {word} in it.\n")
            started = time.perf_counter()
            wait_for(f"{url}?q={word}&mode=lexical", functools.partial(_finds, word))
            times.append(time.perf_counter() - started)
        built = [float(found) for found in re.findall(r"Documentation built in ([\d.]+)", log.read_text())]
        return {
            "searchable_after_s": round(statistics.median(times), 2),
            "of_these_mkdocs_s": round(statistics.median(built[1:]), 2),
        }
    finally:
        server.terminate()
        server.wait()


def _finds(word: str, body: bytes) -> bool:
    return word in json.dumps(json.loads(body).get("results"))


if __name__ == "__main__":
    main()
