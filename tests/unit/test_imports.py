"""Checks which packages may import each other, and what an import may load."""

from __future__ import annotations

import ast
import functools
import graphlib
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import mkdocs_semsearch
from mkdocs_semsearch.errors import ConfigurationError

PACKAGE = Path(mkdocs_semsearch.__file__).parent
NAME = PACKAGE.name

MAY_IMPORT = {
    "errors": set(),
    "http_client": {"errors"},
    "memory": {"errors"},
    "wording": set(),
    "artifact": {"errors"},
    "insights": {"errors", "artifact", "embedding", "lexical", "searching", "wording"},
    "lexical": {"errors", "artifact", "memory"},
    "chunking": {"errors", "artifact", "lexical", "embedding"},
    "embedding": {"errors", "artifact", "http_client"},
    "indexing": {"errors", "artifact", "lexical", "chunking", "embedding", "wording"},
    "searching": {"errors", "artifact", "lexical", "embedding", "memory"},
    "qdrant": {
        "errors",
        "artifact",
        "embedding",
        "lexical",
        "chunking",
        "http_client",
        "indexing",
        "memory",
        "searching",
    },
    "serving": {
        "errors",
        "artifact",
        "embedding",
        "http_client",
        "insights",
        "memory",
        "searching",
        "theme_files",
        "wording",
    },
    "site": {
        "errors",
        "artifact",
        "lexical",
        "chunking",
        "embedding",
        "indexing",
        "memory",
        "searching",
        "static",
        "theme_files",
    },
    "static": {"errors", "artifact", "lexical", "embedding", "searching", "wording"},
    "theme_files": {"errors"},
}
"""Parts that are not listed (plugin, cli, …) put the others together and may import any of them."""

MAY_IMPORT_LAZILY = {"lexical": {"embedding"}, "searching": {"qdrant"}, "site": {"qdrant"}}
"""Modules that a function may import if a word, the index on disk, its URL or an option requires them."""

MAY_IMPORT_MKDOCS = {"plugin"}
"""In an environment with ProperDocs alone, `import mkdocs` works inside its own command only."""

HEAVY = ("torch", "sentence_transformers", "pynndescent", "numba", "pyarrow", "mcp", "starlette", "numpy", "pydantic")


def modules():
    return {
        ".".join(path.relative_to(PACKAGE).with_suffix("").parts): path
        for path in PACKAGE.rglob("*.py")
        if "theme" not in path.relative_to(PACKAGE).parts
    }


@functools.cache
def parsed(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@functools.cache
def imports(path, *, lazy=True):
    """Every module that a file imports; without `lazy`, not those that functions import."""
    found = []
    for node in ast.walk(parsed(path)) if lazy else parsed(path).body:
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.append(node.module or "")
    return found


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_go_in_one_direction(part):
    own = {module: path for module, path in modules().items() if module.split(".")[0] == part}
    assert own
    for module, path in own.items():
        used = {name.split(".")[1] for name in imports(path) if name.startswith(f"{NAME}.")}
        used -= MAY_IMPORT_LAZILY.get(part, set()) - {
            name.split(".")[1] for name in imports(path, lazy=False) if name.startswith(f"{NAME}.")
        }
        assert used <= MAY_IMPORT[part] | {part}, f"{module} imports {used - MAY_IMPORT[part] - {part}}"


def module_graph(paths):
    """The modules that each module imports when it is loaded; `import_module` and imports for types do not count."""
    graph = {}
    for module, path in paths.items():
        graph[module] = used = set()
        pending = list(parsed(path).body)
        while pending:
            node = pending.pop()
            if (
                isinstance(node, ast.If | ast.Try | ast.With)
                and "TYPE_CHECKING" not in ast.unparse(node).split("\n")[0]
            ):
                pending += ast.iter_child_nodes(node)
            if isinstance(node, ast.Import):
                used.update(alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                used.update(inner & {f"{NAME}.{name}" for name in paths} or {node.module})
    return {module: {name.removeprefix(f"{NAME}.") for name in used} & paths.keys() for module, used in graph.items()}


def loaded_modules():
    return {module.removesuffix(".__init__"): path for module, path in modules().items()}


def test_no_modules_import_each_other_in_a_circle():
    graph = module_graph(loaded_modules())
    assert sum(map(len, graph.values())) > 300  # otherwise imports are overlooked
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"an import cycle: {' -> '.join(reversed(error.args[1]))}")


def test_a_planted_import_cycle_is_found(tmp_path):
    paths = loaded_modules()
    planted = tmp_path / "manifest.py"
    text = paths["artifact.manifest"].read_text(encoding="utf-8")
    planted.write_text(f"{text}\nfrom {NAME}.artifact.index_folder import open_index\n", encoding="utf-8")
    graph = module_graph({**paths, "artifact.manifest": planted})
    with pytest.raises(graphlib.CycleError, match=r"artifact\.manifest"):
        graphlib.TopologicalSorter(graph).prepare()


def test_mkdocs_is_imported_by_the_plugin_only():
    for module, path in modules().items():
        if module.split(".")[0] not in MAY_IMPORT_MKDOCS:
            assert not [name for name in imports(path) if name.split(".")[0] in ("mkdocs", "properdocs")], module


def test_nothing_imports_pickle():
    for module, path in modules().items():
        assert not {"pickle", "joblib", "dill", "shelve"} & {name.split(".")[0] for name in imports(path)}, module


def test_plugin_loads_little_but_itself():
    """Every module that MkDocs has not loaded by then slows every command of every site with the plugin."""
    code = (
        "import sys, mkdocs.config.defaults; before = set(sys.modules); "
        f"import {NAME}.plugin; print(' '.join(sorted(set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    fresh = {name for name in done.stdout.split() if not name.startswith(f"{NAME}.")} - {NAME}
    assert {name.split(".")[0] for name in fresh} <= {"_json", "dataclasses", "gc", "json"}, fresh


@pytest.mark.parametrize("part", ["plugin", "cli"])
def test_plugin_and_command_line_load_nothing_heavy(part):
    code = f"import sys, {NAME}.{part}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_server_loads_mcp_when_the_first_agent_connects():
    code = f"import sys; from {NAME}.serving.app import create_app; create_app('nowhere'); print('mcp' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_writing_the_static_search_does_not_load_the_search():
    """A build with `static: auto` would take 0.2 s longer."""
    code = f"import sys, {NAME}.static.bundle_writer; print([name for name in ('searcher', 'query', 'backend') " + (
        f"if f'{NAME}.searching.{{name}}' in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_the_public_names_are_there_and_hold_every_error():
    from mkdocs_semsearch import errors
    from mkdocs_semsearch.searching import query, response, searcher

    public = {name: getattr(mkdocs_semsearch, name) for name in mkdocs_semsearch.__all__}
    assert {name for name in public if name.endswith("Error")} == set(errors.__all__)
    for home in (errors, query, response, searcher):
        shared = public.keys() & vars(home).keys() - {"open_searcher"}  # that of `searcher` opens folders only
        assert shared
        assert all(public[name] is getattr(home, name) for name in shared)


def test_importing_the_package_loads_no_part_of_it():
    code = f"import sys, {NAME}; print([name for name in sys.modules if name.startswith('{NAME}.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_qdrant_without_its_client_names_the_extra(monkeypatch):
    for name in [name for name in sys.modules if name.startswith(f"{NAME}.qdrant")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(ConfigurationError, match=r"mkdocs-semsearch\[qdrant\]"):
        importlib.import_module(f"{NAME}.qdrant.collection")
