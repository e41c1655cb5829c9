from __future__ import annotations

import sys
from dataclasses import replace

import pytest

from mkdocs_semsearch.chunking.blocks import Block
from mkdocs_semsearch.chunking.code_languages import load_grammar
from mkdocs_semsearch.chunking.code_structure import CodeStructure, structure_of
from mkdocs_semsearch.chunking.packing import split_block

pytest.importorskip("tree_sitter")


def read(code: str, language: str) -> CodeStructure:
    return structure_of([Block("code", code, language)])


PYTHON = """
import os.path
from fastapi import FastAPI, Depends as D

app = FastAPI()

@app.get("/")
async def root(limit: int = 10):
    return np.array(build(limit))

class Thing(Base, metaclass=Meta):
    def run(self): ...
"""


def test_python() -> None:
    found = read(PYTHON, "python")
    assert (found.node_type, found.node_name, found.parent_context, found.scope_path) == (
        "function",
        "root",
        None,
        ("root",),
    )
    assert found.definitions == ("root", "Thing", "run")
    assert {"os.path", "fastapi", "FastAPI", "Depends", "array", "build", "Base", "get"} <= set(found.references)


@pytest.mark.parametrize(
    ("language", "code", "node_type", "scope", "definitions", "references"),
    [
        ("python", "class A:\n  def b(self):\n    c()", "class", ("A",), {"A", "b"}, {"c"}),
        ("python", ">>> def f(x):\n...     return g(x)\n...\n>>> f(1)\ndef no_code(): 3", "function", ("f",), {"f"},
         {"g"}),
        ("python", "- def old(): ...\n+ def new(): ...\n", "function", ("new",), {"new"}, set()),
        ("python", "def f(a, ...):\n    ...\n    call(", "function", ("f",), {"f"}, set()),
        ("javascript", "const add = (a) => sum(a)\nclass A extends B { run() { x.go() } }", "function", ("add",),
         {"add", "A", "run"}, {"sum", "go"}),
        ("javascript", "import React, { useState } from 'react'\nfunction App() { return <Main/> }", "function",
         ("App",), {"App"}, {"React", "useState", "react", "Main"}),
        ("typescript", "interface Props { a: string }\nexport class S implements Props { go(): void { f() } }",
         "interface", ("Props",), {"Props", "S", "go"}, {"Props", "f"}),
        ("tsx", "type A = string\nconst B: FC = () => <C x={1}/>", "type", ("A",), {"A", "B"}, {"C"}),
        ("go", 'import "net/http"\nfunc (s *Server) Run(a int) error { return http.Listen(a) }', "method",
         ("Server", "Run"), {"Run"}, {"net/http", "Listen"}),
        ("go", "type Box[T any] struct { x T }\nfunc main() { fmt.Println(1) }", "struct", ("Box",), {"Box", "main"},
         {"Println"}),
        ("rust", "use std::io::Read;\nimpl Show for Dog { fn show(&self) { println!(\"x\"); bark() } }", "method",
         ("Dog", "show"), {"show"}, {"Read", "println", "bark", "Show"}),
        ("rust", "pub struct A;\ntrait T { fn go(&self); }\nfn main() { a.b(); C::d(); }", "struct", ("A",),
         {"A", "T", "go", "main"}, {"b", "d"}),
        ("java", "import java.util.List;\npublic class A extends B { void run() { new C().go(); } }", "class", ("A",),
         {"A", "run"}, {"java.util.List", "C", "go", "B"}),
        ("java", "public void run() { go(); }", "method", ("run",), {"run"}, {"go"}),
        ("c", "#include <stdio.h>\n#define N 3\nchar *name(int a) { return printf(\"x\"); }", "macro", ("N",),
         {"N", "name"}, {"stdio.h", "printf"}),
        ("bash", "$ docker run \\\n  --rm x\nhello\n$ uv sync", None, (), set(), {"docker", "uv"}),
        ("bash", "deploy() {\n  rsync a b\n}\ndeploy", "function", ("deploy",), {"deploy"}, {"rsync", "deploy"}),
    ],
)  # fmt: skip
def test_languages(
    language: str,
    code: str,
    node_type: str | None,
    scope: tuple[str, ...],
    definitions: set[str],
    references: set[str],
) -> None:
    found = read(code, language)
    assert (found.node_type, found.scope_path) == (node_type, scope)
    assert set(found.definitions) == definitions
    assert references <= set(found.references)
    assert "hello" not in found.references


def test_what_a_method_belongs_to() -> None:
    found = read("func (s Server) Stop() {}", "go")
    assert (found.node_name, found.parent_context) == ("Stop", "Server")


@pytest.mark.parametrize("language", ["python", "javascript", "typescript", "go", "rust", "java", "c", "bash", "tsx"])
@pytest.mark.parametrize("code", ["", "\0", "(" * 5000, "def " * 2000, "{" * 3000 + "x", "😀" * 100, "..."])
def test_any_code_is_read_without_complaint(language: str, code: str) -> None:
    read(code, language)


def test_a_piece_of_a_long_block_has_the_name_of_its_definition() -> None:
    methods = "\n\n".join(f"    def run_{n}(self):\n        first_{n}()\n        second_{n}()" for n in range(6))
    block = Block("code", f"class Engine(Base):\n{methods}", "python")
    first, *_, last = split_block(block, 12, lambda text: len(text.split()))
    assert structure_of([first]).scope_path == ("Engine",)
    assert structure_of([last]).scope_path == ("Engine", "run_5")
    assert structure_of([last]).parent_context == "Engine"
    body = replace(block, text="        second_3()", whole=block.text, first_line=15)
    assert structure_of([body]) == CodeStructure(
        node_type=None,
        node_name="run_3",
        parent_context="Engine",
        scope_path=("Engine", "run_3"),
        node_names=("run_3",),
        parent_contexts=("Engine", "class Engine"),
        scope_depth=2,
        references=("second_3",),
    )


def test_all_definitions_are_listed_and_the_first_outermost_one_is_the_main_one() -> None:
    found = read(PYTHON, "python")
    assert found.node_types == ("function", "class", "method")
    assert found.node_names == ("root", "Thing", "run")
    assert found.parent_contexts == ("Thing", "class Thing")
    assert found.scope_depth == 2
    assert {"np", "app"} <= set(found.references)


@pytest.mark.parametrize(
    ("language", "code", "name", "parents"),
    [
        ("rust", "impl<T> Show for Box<T> { fn show(&self) {} }", "show", ("Box", "impl Box", "impl Show for Box")),
        ("rust", "fn main() { let add = |a| a + 1; }", "add", ("main", "function main")),
        ("go", "func (s *Server) Run() {}", "Run", ("Server", "type Server")),
        ("go", "func Run() { stop := func() {} }", "stop", ("Run", "function Run")),
        ("python", "class A:\n    key = lambda self: 1", "key", ("A", "class A")),
        ("javascript", "class A { go = () => 1 }", "go", ("A", "class A")),
        ("typescript", "namespace N { class A {} }", "A", ("N", "module N")),
        ("java", "class A { void a() { Runnable task = () -> {}; } }", "task", ("a", "method a")),
    ],
)
def test_a_parent_is_written_in_each_of_its_forms(language: str, code: str, name: str, parents: list[str]) -> None:
    found = read(code, language)
    assert name in found.definitions
    assert set(parents) <= set(found.parent_contexts)


@pytest.mark.parametrize(
    ("language", "code", "references"),
    [
        ("python", "self.log.info(config.DEBUG)", {"log", "info", "config"}),
        ("javascript", "app.server.listen(this.port)", {"app", "server", "listen"}),
        ("go", "func f() { s.log.Info(os.Args) }", {"s", "log", "Info", "os"}),
        ("rust", "fn f() { self.log.info(Client::new(), std::env::args()) }", {"log", "info", "Client", "new", "env",
         "args"}),
        ("java", "void f() { this.log.info(System.out); }", {"log", "info", "System"}),
    ],
)  # fmt: skip
def test_what_a_method_is_called_on_is_a_reference(language: str, code: str, references: set[str]) -> None:
    assert set(read(code, language).references) == references


def test_without_tree_sitter_there_is_no_structure(monkeypatch: pytest.MonkeyPatch) -> None:
    load_grammar.cache_clear()
    monkeypatch.setitem(sys.modules, "tree_sitter_rust", None)
    try:
        assert read("fn only_here() {}", "rust") == CodeStructure()
    finally:
        load_grammar.cache_clear()


def test_unknown_languages_have_no_structure() -> None:
    assert read("def f(): ...", "brainfuck") == CodeStructure()
    assert structure_of([Block("text", "def f(): ...")]) == CodeStructure()
