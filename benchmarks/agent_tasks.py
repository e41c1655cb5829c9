"""Lets a scripted agent answer ten tasks on the documentation of uv with at most three calls of MCP tools each.

The agent calls `search_docs` with the words of the task and requests a short answer. If the answer does not contain the
fact, it searches again with other words, if it has some, then reads the best pages with `get_page`. It talks to
`semsearch mcp` over standard input and output.

    python benchmarks/agent_tasks.py SITE/semsearch-index
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

MOST_CALLS = 3
ANSWER_TOKENS = 1500
CITED = re.compile(r"^(?:\w+: )?(\S+\.md)(?::\d+-\d+)? <", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        question: the task in the words of a reader who does not know the terms of the site.
        page: path of the page with the answer.
        fact: words of that page that an answer must contain.
        rephrased: the second question, in the terms of the field.
    """

    question: str
    page: str
    fact: str
    rephrased: str = ""


@dataclass(frozen=True)
class Outcome:
    """The cost of a task: the number of calls, and of characters that the agent read."""

    task: Task
    answered: bool
    calls: int
    characters: int


UV = (
    Task("Where does uv keep its cache, and how do I move it to another disk?", "concepts/cache.md", "--cache-dir"),
    Task("Make CI installs use the lowest versions my dependencies allow", "concepts/resolution.md", "lowest-direct"),
    Task(
        "Several packages in one repository should share a lockfile",
        "concepts/projects/workspaces.md",
        "members",
        rephrased="workspace with several members",
    ),
    Task("Pin the Python version of a project", "concepts/python-versions.md", ".python-version"),
    Task(
        "Build a small Docker image with uv and compile bytecode", "guides/integration/docker.md", "UV_COMPILE_BYTECODE"
    ),
    Task("Publish my package to a private registry", "guides/package.md", "uv publish"),
    Task("Run a single file script that declares its own dependencies", "guides/scripts.md", "# /// script"),
    Task("Install PyTorch for the CPU only", "guides/integration/pytorch.md", "https://download.pytorch.org/whl/cpu"),
    Task("Ignore package releases newer than a given date", "concepts/resolution.md", "exclude-newer"),
    Task("Cache uv between GitHub Actions runs", "guides/integration/github.md", "enable-cache"),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", help="of the documentation of uv")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    server = StdioServerParameters(command=sys.executable, args=["-m", "mkdocs_semsearch", "mcp", given.index])
    outcomes = anyio.run(work_on, UV, stdio_client(server))
    for outcome in outcomes:
        state = "answered" if outcome.answered else "NOT ANSWERED"
        print(f"{state} {outcome.calls} calls {outcome.characters:>6} characters  {outcome.task.question}")
    answered = sum(outcome.answered for outcome in outcomes)
    print(f"{answered} of {len(outcomes)} tasks, {sum(outcome.calls for outcome in outcomes)} calls")
    if given.json:
        rows = [{"question": o.task.question, "answered": o.answered, "calls": o.calls} for o in outcomes]
        given.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 0 if answered == len(outcomes) else 1


async def work_on(tasks: tuple[Task, ...], target: Any) -> list[Outcome]:
    """Answers every task in one session."""
    async with Client(target) as client:
        return [await _attempt(task, client) for task in tasks]


async def _attempt(task: Task, client: Client) -> Outcome:
    seen = calls = 0
    paths: list[str] = []
    for question in filter(None, (task.question, task.rephrased)):
        found = await _call(client, "search_docs", query=question, limit=5, max_tokens=ANSWER_TOKENS)
        answer = str(found["answer"])
        seen, calls, paths = seen + len(answer), calls + 1, list(dict.fromkeys(CITED.findall(answer)))
        if task.fact in answer and task.page in paths:
            return Outcome(task, answered=True, calls=calls, characters=seen)
    for path in paths[: MOST_CALLS - calls]:
        body = await _call(client, "get_page", path=path)
        text = "\n".join(section["content"] for section in body["sections"])
        seen, calls = seen + len(text), calls + 1
        if path == task.page and task.fact in text:
            return Outcome(task, answered=True, calls=calls, characters=seen)
    return Outcome(task, answered=False, calls=calls, characters=seen)


async def _call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(name, arguments)
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


if __name__ == "__main__":
    sys.exit(main())
