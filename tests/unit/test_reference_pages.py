"""The reference pages name every option and every environment variable, and no others."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest

from mkdocs_semsearch import errors
from mkdocs_semsearch.cli.arguments import build_parser
from mkdocs_semsearch.cli.commands import COMMANDS
from mkdocs_semsearch.serving.wire import ROUTES

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "example-site" / "docs" / "reference"
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def options():
    parser = build_parser(COMMANDS)
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return {
        name: {text for action in command._actions for text in action.option_strings if text.startswith("--")}
        for name, command in commands.choices.items()
    }


def section_of(command):
    text = (REFERENCE / "cli.md").read_text(encoding="utf-8")
    return text.split(f"\n## semsearch {command}\n")[1].split("\n## ")[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_table_of_a_command_has_its_options(command):
    rows = [line for line in section_of(command).splitlines() if line.startswith("| `")]
    assert set(FLAG.findall(" ".join(row.split("|")[1] for row in rows))) == options()[command] - {"--help"}


@pytest.mark.parametrize("command", COMMANDS)
def test_usage_of_a_command_has_only_its_options(command):
    usage = section_of(command).split("```")[1]
    lines = [line for line in usage.splitlines() if line.startswith((f"semsearch {command}", " "))]
    assert set(FLAG.findall(" ".join(lines))) <= options()[command]


def test_every_option_and_command_has_a_help_text():
    parser = build_parser(COMMANDS)
    (commands,) = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    without = [
        (name, action.dest)
        for name, command in commands.choices.items()
        for action in command._actions
        if not action.help
    ]
    assert without == []


def test_the_table_of_routes_has_every_route():
    rows = [line for line in (REFERENCE / "http-api.md").read_text(encoding="utf-8").splitlines() if line[:3] == "| ["]
    named = {part.strip("`") for row in rows for part in re.split(r"[\[\],] ?", row.split("|")[1])}
    routes = {f"{method} {route.path}" for route in ROUTES for method in route.methods}
    assert routes - named == {"GET /docs/semsearch/{path}"}


TREE = re.compile(r"^( *)SemsearchError\b.*\n((?:[ │]*[├└]── .*\n)+)", re.MULTILINE)


def tree_of_errors(text):
    """Reads the drawn tree of errors: the name of each error, with that of its parent."""
    indent, lines = TREE.search(text).groups()
    above, parents = ["SemsearchError"], {}
    for line in lines.splitlines():
        name = re.search(r"\w+", line)
        depth = (name.start() - len(indent)) // 4
        parents[name[0]] = above[depth - 1]
        above[depth:] = [name[0]]
    return parents


def test_the_tree_of_errors_is_that_of_the_code():
    code = {name: getattr(errors, name).__base__.__name__ for name in errors.__all__ if name != "SemsearchError"}
    assert tree_of_errors(errors.__doc__) == code
    assert tree_of_errors((REFERENCE / "errors.md").read_text(encoding="utf-8")) == code


def test_every_environment_variable_that_is_read_is_documented():
    code = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "mkdocs_semsearch").rglob("*.py"))
    page = (REFERENCE / "environment.md").read_text(encoding="utf-8")
    read = set(re.findall(r"\bSEMSEARCH_[A-Z_]*[A-Z]\b", code))
    assert len(read) >= 10
    assert {name for name in read if f"`{name}`" not in page} == set()
