"""Makes pairs of a question and the section that answers it from the Markdown of documentation repositories: headings,
texts of links, descriptions of pages, and subjects of commits that changed one section. For `taught_encoder.py`.

    python benchmarks/training_pairs.py CLONES --out pairs.jsonl    # CLONES: a folder of git repositories

Prints a line a repository: commit, licence, sections, pairs of each kind. Translations, old versions, change logs and
repeated sections are left out. The repositories that were used, with their licences, are in
`results/taught_encoder.json`; their texts are not kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

LANGUAGES = "zh|zh-cn|zh-hans|zh-hant|ja|ko|fr|de|es|pt|pt-br|ru|it|tr|uk|pl|vi|fa|id|hu|bn|az|he|ar|cs|nl|el|ro|sv|hi"
FOLDERS_LEFT_OUT = re.compile(
    rf"(^|/)(i18n|translations?|locales?|node_modules|vendor|third_party|\.github|tests?|fixtures|archive|changelogs?|"
    rf"releases?|blog|versioned_docs|{LANGUAGES})(/|$)",
    re.IGNORECASE,
)
FILES_LEFT_OUT = re.compile(
    r"change_?log|release|history|news|contribut|code_of_conduct|license|security|roadmap", re.IGNORECASE
)
GENERIC = re.compile(
    r"(introduction|overview|options?|examples?|usage|install(ation)?|see also|notes?|parameters?|arguments?|syntax|"
    r"description|configuration|summary|prerequisites|requirements|next steps?|references?|more|features|background|"
    r"type|returns?|properties|methods|attributes|limitations|troubleshooting|api|steps|setup|faq|status|details)",
    re.IGNORECASE,
)
CHORES = re.compile(
    r"\b(typos?|bump|release|changelog|merge|lint|revert|spelling|grammar|broken|links?|wording|prettier|clean.?up|"
    r"renamed?|format\w*|rewrite|contributors?|version|chore|deps|backport|sync|translat\w*|metadata|readme)\b",
    re.IGNORECASE,
)
PREFIX_OF_SUBJECT = re.compile(
    r"^(docs?|feat|fix|chore|refactor|website|content)(\([^)]*\))?!?\s*[:|/-]\s*", re.IGNORECASE
)
VERSION_FOLDER = re.compile(r"(^|/)(v?\d+\.\d+(?:\.\d+|\.x)?|v\d+)/")
LEAST_WORDS, MOST_WORDS = 8, 170
"""Words of a section: below it says nothing, above an encoder of 128 to 256 tokens does not read it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A question with the text that answers it; `section` numbers the sections of a site."""

    site: str
    kind: str
    question: str
    document: str
    section: int


@dataclass(frozen=True, slots=True)
class Section:
    """A heading path and the prose below it."""

    path: tuple[str, ...]
    text: str

    def document(self, *, with_heading: bool) -> str:
        """Returns what the encoder reads: the heading path and the prose, as in `embedding_text`."""
        path = self.path if with_heading else self.path[:-1]
        return " > ".join(part[:100] for part in path) + "\n" + self.text if path else self.text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clones", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with arguments.out.open("w", encoding="utf-8") as out:
        for git_dir in sorted({path.parent for path in arguments.clones.glob("*/**/HEAD") if "refs" not in path.parts}):
            name = git_dir.relative_to(arguments.clones).parts[0].replace("+", "/")
            site = Site(name, git_dir)
            pairs = list(site.pairs())
            out.writelines(json.dumps(asdict(pair)) + "\n" for pair in pairs)
            print(json.dumps(site.summary() | {"pairs": Counter(pair.kind for pair in pairs)}), flush=True)


class Site:
    """The documentation in the newest commit of a repository."""

    def __init__(self, name: str, git_dir: Path) -> None:
        self._name, self._git_dir, self._random = name, git_dir, random.Random(name)
        self._sections: list[Section] = []
        self._of_line: dict[str, set[int]] = defaultdict(set)
        self._pages: dict[str, dict[str, int]] = {}  # path to slug of heading to section; "" is the first one
        self._links: list[tuple[str, int, str, str]] = []  # page, section, text, target
        self._descriptions: list[tuple[str, int]] = []
        for path, text in self._markdown():
            self._read(path, text)

    def summary(self) -> dict[str, object]:
        """Returns what is known of the repository."""
        commit = self._git("rev-parse", "HEAD").strip()
        return {"site": self._name, "commit": commit, "licence": self._licence(), "sections": len(self._sections)}

    def pairs(self) -> Iterator[Pair]:
        """Yields each question once a section."""
        seen = set()
        for kind, question, row in (*self._headings(), *self._texts_of_links(), *self._subjects()):
            key = (re.sub(r"\W+", " ", question.lower()).strip(), row)
            if key not in seen and is_english(question):
                seen.add(key)
                document = self._sections[row].document(with_heading=kind != "heading")
                yield Pair(self._name, kind, question[:250], document, row)

    def _headings(self) -> Iterator[tuple[str, str, int]]:
        for row, section in enumerate(self._sections):
            if not section.path or len(section.path[-1]) < 4:
                continue
            question = section.path[-1]
            if GENERIC.fullmatch(question) or len(question.split()) < 2:
                if len(section.path) < 2:
                    continue
                question = f"{section.path[-2]} {question}"
            yield "heading", question, row
        for text, row in self._descriptions:
            yield "description", text, row

    def _texts_of_links(self) -> Iterator[tuple[str, str, int]]:
        by_stem: dict[str, list[str]] = defaultdict(list)
        for path in self._pages:
            by_stem[stem(path).rpartition("/")[2]].append(path)
        for page, row, text, target in self._links:
            if len(text.split()) < 3 or re.match(r"^\w+:", target) or GENERIC.fullmatch(text):
                continue
            file, _, anchor = target.partition("#")
            wanted = stem(re.sub(r"^(\.\./|\./|/)+", "", file.partition("?")[0])) if file else ""
            places = [p for p in by_stem[wanted.rpartition("/")[2]] if stem(p).endswith(wanted)] if file else [page]
            found = self._pages[places[0]].get(anchor) if len(places) == 1 else None
            if found is not None and found != row and slug(self._sections[found].path[-1:]) != slug([text]):
                yield "link", text, found

    def _subjects(self) -> Iterator[tuple[str, str, int]]:
        """Yields subjects of commits that changed lines of one section of one page more than of any other."""
        log = self._git("log", "-n6000", "--no-merges", "-U0", "-p", "--format=%x01%s%x02", "--", "*.md", "*.mdx")
        for commit in log.split("\x01")[1:]:
            subject, _, patch = commit.partition("\x02")
            if patch.count("\ndiff --git") > 1 or CHORES.search(subject):
                continue
            subject = PREFIX_OF_SUBJECT.sub("", re.sub(r"\s*\(?#\d+\)?|\[[^\]]*\]", "", subject)).strip(" .")
            touched: Counter[int] = Counter()
            for line in patch.splitlines():
                if line.startswith("+") and len(rows := self._of_line.get(line[1:].strip(), set())) == 1:
                    touched.update(rows)
            ranked = touched.most_common(2)
            clear = ranked and (len(ranked) == 1 or ranked[0][1] > ranked[1][1])
            if clear and len(touched) <= 4 and 3 <= len(subject.split()) <= 30:
                yield "commit", subject, ranked[0][0]

    def _read(self, path: str, text: str) -> None:
        matter, sections = split(text)
        slugs: dict[str, int] = {}
        for headings, body in sections:
            words = prose(body).split()
            key = hashlib.md5(re.sub(r"\W+", " ", " ".join(words[:80]).lower()).encode()).hexdigest()
            if len(words) < LEAST_WORDS or key in self._of_line:
                continue
            self._of_line[key] = set()  # the same section on another page is left out
            row = len(self._sections)
            self._sections.append(Section(headings, " ".join(words[:MOST_WORDS])))
            slugs.setdefault("", row)
            slugs[slug(headings[-1:])] = row
            for line in body.splitlines():
                if len(line.strip()) > 25:
                    self._of_line[line.strip()].add(row)
            for link in re.finditer(r"(?<!!)\[([^\]\n]{8,90})\]\(([^)\s]+)\)", body):
                self._links.append((path, row, plain(link[1]), link[2]))
        self._pages[path] = slugs
        if "" in slugs and 4 <= len(matter.get("description", "").split()) <= 30:
            self._descriptions.append((plain(matter["description"]), slugs[""]))

    def _markdown(self) -> Iterator[tuple[str, str]]:
        """Yields path and text of the pages, of several versions the newest."""
        files = self._git("ls-tree", "-r", "--name-only", "HEAD").splitlines()
        paths = [path for path in files if path.endswith((".md", ".mdx"))]
        newest: dict[str, str] = {}
        for path in paths:
            if found := VERSION_FOLDER.search(path):
                before = path[: found.start(2)]
                newest[before] = max(newest.get(before, "0"), found[2], key=numbers)
        for path in paths:
            folder, _, name = path.rpartition("/")
            found = VERSION_FOLDER.search(path)
            old = found and newest[path[: found.start(2)]] != found[2]
            if old or FOLDERS_LEFT_OUT.search(folder) or FILES_LEFT_OUT.search(name):
                continue
            text = self._git("show", f"HEAD:{path}")
            if is_english(text) and len(text) < 400_000:
                yield path, text

    def _licence(self) -> str:
        names = {"Apache License": "Apache-2.0", "Permission is hereby granted": "MIT", "Redistribution and": "BSD"}
        for path in self._git("ls-tree", "--name-only", "HEAD").splitlines():
            if re.match(r"LICEN[CS]E|COPYING", path, re.IGNORECASE):
                text = self._git("show", f"HEAD:{path}")
                return next((name for phrase, name in names.items() if phrase in text), "other")
        return "none"

    def _git(self, *command: str) -> str:
        done = subprocess.run(["git", "-C", self._git_dir, *command], capture_output=True, check=False)
        return done.stdout.decode("utf-8", "replace")


def split(text: str) -> tuple[dict[str, str], list[tuple[tuple[str, ...], str]]]:
    """Returns front matter (one line a key) and the sections of a page with their heading paths."""
    matter = {}
    if found := re.match(r"---\r?\n(.*?)\r?\n---\r?\n", text, re.DOTALL):
        lines = re.finditer(r"^(title|description):\s*(.+)$", found[1], re.MULTILINE)
        matter = {line[1]: line[2].strip("'\" ") for line in lines}
        text = text[found.end() :]
    sections: list[tuple[tuple[str, ...], list[str]]] = [((), [])]
    path: list[tuple[int, str]] = []
    fence = ""
    for line in text.splitlines():
        if found := re.match(r"\s*(`{3,}|~{3,})", line):
            fence = "" if fence == found[1][0] else fence or found[1][0]
        heading = None if fence else re.match(r"(#{1,6})\s+(.+)$", line)
        if heading:
            level = len(heading[1])
            path = [(depth, name) for depth, name in path if depth < level] + [(level, plain(heading[2]))]
            sections.append((tuple(name for _, name in path), []))
        else:
            sections[-1][1].append(line)
    title = plain(matter.get("title", ""))
    whole = [((title, *names) if title and title not in names else names, "\n".join(body)) for names, body in sections]
    return matter, [(names, body) for names, body in whole if names]


def prose(body: str) -> str:
    """Returns the text of a section without code, tags and marks of Markdown."""
    text = re.sub(r"^\s*(`{3,}|~{3,}).*?(^\s*\1|\Z)", "", body, flags=re.DOTALL | re.MULTILINE)
    for pattern in (r"<!--.*?-->", r"\{\{[<%].*?[%>]\}\}", r"\{%.*?%\}"):
        text = re.sub(pattern, "", text, flags=re.DOTALL)
    text = re.sub(r"^(:::|!!!|\?\?\?|import |export ).*$", "", text, flags=re.MULTILINE)
    return plain(text)


def plain(text: str) -> str:
    text = re.sub(r"!?\[([^\]]*)\](\([^)]*\)|\[[^\]]*\])", r"\1", text)
    text = re.sub(r"<[^>\n]{1,300}>|\*\*|__|`|\s*\{[#:.][^}]*\}", "", text)
    return re.sub(r"\s+", " ", text).strip(" #")


def slug(names: tuple[str, ...] | list[str]) -> str:
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", "".join(names).lower()).strip())


def stem(path: str) -> str:
    return re.sub(r"((^|/)(index|_index|README))?(\.mdx?|\.html|/)?$", "", path)


def numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def is_english(text: str) -> bool:
    """Tells whether nearly all characters are ASCII; enough to leave translations out."""
    return bool(text) and sum(character.isascii() for character in text) / len(text) > 0.97


if __name__ == "__main__":
    main()
