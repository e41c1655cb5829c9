"""Reads the configuration of a generator, and the dates of source files from git, without running the generator.

Supports `mkdocs.yml` and `properdocs.yml` (MkDocs, ProperDocs, Zensical) and `zensical.toml`. Plugins are not run, so
navigation from other files, generated pages and inherited front matter are not available here.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import logging
import os
import re
import subprocess
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath, PurePosixPath
from typing import Any
from urllib.parse import urljoin, urlsplit

import yaml

from mkdocs_semsearch.artifact.atomic_files import remove_old_parts, replace_file
from mkdocs_semsearch.chunking.inline_text import title_of_name
from mkdocs_semsearch.errors import ConfigurationError, reason

MARKDOWN_SUFFIXES = (".markdown", ".mdown", ".mkdn", ".mkd", ".md")
_MAX_PARENTS = 10
"""Greatest length of a chain of `INHERIT`; the limit also ends a cycle. Chosen, not measured."""


@dataclass(frozen=True, slots=True)
class NavEntry:
    """A page in the navigation: its place, its title there, if any, and the titles of the sections around it."""

    position: int
    title: str | None
    sections: tuple[str, ...]


_FOR_PLUGINS = re.compile(r"!|(?!\w+:|/)(?:.*\*|.*/$|[^.]*$)")
"""Entries of a navigation that plugins replace with pages: `!include a/mkdocs.yml`, `guide/`, `guide/*.md`, `guide`."""


@dataclass(frozen=True, slots=True)
class SiteConfig:
    """The part of a configuration that concerns pages.

    Attributes:
        docs_dir: folder of the Markdown files.
        site_dir: folder of the built site, which need not exist.
        site_name: as written; `""` if missing.
        use_directory_urls: whether `a.md` becomes `a/index.html`.
        nav: source path to entry; None if the navigation follows the folders.
        not_in_nav: patterns as in `.gitignore`, one a line, for pages that are not meant to be in the navigation.
        site_url: with a slash at its end, as MkDocs makes it; `""` if missing.
        language: Material's `theme.language`, else the theme's locale; `en` if neither is written.
        edit_url: see `edit_url`; empty if the configuration has no `edit_uri`.
        is_translated: whether mkdocs-static-i18n builds translations, whose files the navigation does not name.
        plugin_options: the options under `plugins: - semsearch:`.
    """

    docs_dir: Path
    site_dir: Path = Path("site")
    site_name: str = ""
    use_directory_urls: bool = True
    nav: Mapping[str, NavEntry] | None = field(default=None)
    not_in_nav: str = ""
    site_url: str = ""
    language: str = "en"
    edit_url: str = ""
    is_translated: bool = False
    plugin_options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def names_every_page(self) -> bool:
        """Whether the navigation has only pages and addresses; plugins replace folders, globs and `!include`."""
        return not self.is_translated and not any(_FOR_PLUGINS.match(entry) for entry in self.nav or ())

    def navigation_test(self) -> Callable[[str], bool]:
        """Returns a function that tells whether a source path is in the navigation or matched by `not_in_nav`.

        Raises:
            ConfigurationError: `not_in_nav` has a pattern that MkDocs would refuse.
        """
        nav = self.nav or {}
        if not self.not_in_nav:
            return nav.__contains__
        from pathspec.gitignore import GitIgnoreSpec  # which MkDocs uses for this option

        try:
            meant = GitIgnoreSpec.from_lines(self.not_in_nav.splitlines())
        except ValueError as error:
            raise ConfigurationError(f"not_in_nav has a pattern that is not valid: {reason(error)}.") from None
        return lambda path: path in nav or meant.match_file(path)

    def html_path(self, source_path: str) -> str:
        """Returns the path of the HTML file that a source file becomes."""
        path = PurePosixPath(source_path)
        name = "index" if path.stem == "README" else path.stem
        if name == "index" or not self.use_directory_urls:
            return str(path.with_name(name + ".html"))
        return str(path.with_name(name) / "index.html")

    def nav_entry(self, source_path: str) -> NavEntry | None:
        """Returns the place of a page in the navigation, or None for a page that is not in it."""
        if self.nav is not None:
            return self.nav.get(source_path)
        parents = PurePosixPath(source_path).parts[:-1]
        return NavEntry(0, None, tuple(map(title_of_name, parents)))


def load_site_config(config_file: Path) -> SiteConfig:
    """Reads a configuration file.

    Raises:
        ConfigurationError: the file is missing, cannot be parsed, names a docs folder that does not exist, has an
            invalid address, or has options of this package's plugin that are not a mapping.
    """
    values = _read(config_file)
    docs_dir = config_file.parent / str(values.get("docs_dir") or "docs")
    if not docs_dir.is_dir():
        raise ConfigurationError(f"{config_file} names the docs folder {docs_dir}, which does not exist.")
    nav = values.get("nav")
    return SiteConfig(
        docs_dir=docs_dir,
        site_dir=config_file.parent / str(values.get("site_dir") or "site"),
        site_name=str(values.get("site_name") or ""),
        use_directory_urls=values.get("use_directory_urls") is not False,
        nav=_nav_entries(nav) if isinstance(nav, list) and nav else None,
        not_in_nav=str(values.get("not_in_nav") or ""),
        site_url=with_slash(_address("site_url", values, config_file)),
        language=_language(values.get("theme")),
        edit_url=edit_url(
            _address("repo_url", values, config_file),
            *(str(values.get(key) or "") for key in ("edit_uri", "edit_uri_template")),
        ),
        is_translated=_has_plugin("i18n", values.get("plugins")),
        plugin_options=_plugin_options(values.get("plugins"), config_file),
    )


def with_slash(site_url: str) -> str:
    """Returns the address of a site with one slash at its end, without which relative URLs would replace its last part.

    MkDocs adds it, but mike appends the version after that, without a slash.
    """
    return site_url.rstrip("/") + "/" if site_url else ""


def _address(key: str, values: Mapping[str, Any], config_file: Path) -> str:
    """Returns the address that an option has, empty if it is missing.

    Raises:
        ConfigurationError: MkDocs would refuse it, because it has no scheme or no host.
    """
    address = str(values.get(key) or "")
    try:
        parts = urlsplit(address)
        valid = not address or bool(parts.scheme and parts.netloc)
    except ValueError:
        valid = False
    if not valid:
        raise ConfigurationError(
            f"{config_file}: {key} {address!r} is not an address such as https://docs.example.org/."
        )
    return address


def edit_url(repo_url: str, edit_uri: str, template: str) -> str:
    """Returns the URL for editing a page, with `{path}` for the source path; empty if the configuration has none.

    The arguments are MkDocs' options `repo_url`, `edit_uri` and `edit_uri_template`.
    """
    last = template or (f"{edit_uri.rstrip('/')}/{{path}}" if edit_uri else "")
    if repo_url and not last.startswith(("?", "#")):
        repo_url = f"{repo_url.rstrip('/')}/"
    return urljoin(repo_url, last) if last else ""


def _language(theme: Any) -> str:
    named = theme if isinstance(theme, dict) else {}
    return str(named.get("language") or named.get("locale") or "en").replace("_", "-")


def _has_plugin(name: str, plugins: Any) -> bool:
    listed = plugins if isinstance(plugins, list) else [plugins]
    return any(name in item if isinstance(item, dict) else name == item for item in listed)


def _plugin_options(plugins: Any, config_file: Path) -> Mapping[str, Any]:
    """Finds the options of this package's plugin, whether plugins are a list or a mapping.

    Raises:
        ConfigurationError: they are not a mapping.
    """
    listed = plugins if isinstance(plugins, list) else [plugins]
    found = (item["semsearch"] for item in listed if isinstance(item, dict) and "semsearch" in item)
    options = next(found, None) or {}
    if not isinstance(options, dict):
        raise ConfigurationError(
            f"{config_file}, plugin semsearch: {options!r} is not a mapping such as {{static: true}}."
        )
    return options


# Lines end with \n or \r\n, and every line keeps its own end.
_PLUGIN = re.compile(
    r"^(?P<indent>[ \t]*)- (?P<quote>[\"']?)semsearch(?P=quote)(?P<colon>:?)"
    r"(?P<comment>(?:[ \t]+#[^\r\n]*)?)[ \t]*(?=\r?$)",
    re.MULTILINE,
)
_LINE = re.compile(r"^[ \t]+ranking: \{semantic: [\d.]+\}.*(?:\n|\Z)", re.MULTILINE)
_OPTION = re.compile(r"\r?\n((?:[ \t]*(?:#.*)?\r?\n)*)([ \t]+)(?!-)")


def write_semantic_weight(config_file: Path, weight: float) -> None:
    """Writes `ranking: {semantic: …}` as one line under the plugin; deleting that line undoes it.

    Raises:
        ConfigurationError: the plugin is written in another form, or the file cannot be read or written; the
            file stays as it was.
    """
    wanted = f"ranking: {{semantic: {weight:g}}}"
    file = config_file.resolve()  # a link stays a link
    try:
        before = file.read_bytes().decode("utf-8")
        after = _with_line(before, f"{wanted}  # by semsearch tune")
        if after is not None:
            remove_old_parts(file.parent, file.name)
            replace_file(file, after)
            with contextlib.suppress(ConfigurationError):
                if load_site_config(config_file).plugin_options.get("ranking") == {"semantic": weight}:
                    return
            replace_file(file, before)
    except UnicodeDecodeError:
        raise ConfigurationError(f"{config_file} is not in UTF-8: save it in UTF-8, then run this again.") from None
    except OSError as error:
        raise ConfigurationError(
            f"{config_file} cannot be changed ({reason(error)}): allow that, or write {wanted} there."
        ) from None
    raise ConfigurationError(
        f"{config_file} has the plugin in a form that cannot be edited here: write {wanted} there."
    )


def _with_line(before: str, line: str) -> str | None:
    """Returns a configuration with a line under the plugin, in place of an earlier one; None without the plugin."""
    text = _LINE.sub("", before)
    found = _PLUGIN.search(text)
    if found is None:
        return None
    rest = text[found.end() :]
    following = _OPTION.match(rest)
    deeper = following is not None and len(following[2]) > len(found["indent"]) and bool(found["colon"])
    indent = following[2] if deeper and following is not None else f"{found['indent']}    "
    head = f"{found['indent']}- {found['quote']}semsearch{found['quote']}:{found['comment']}"
    end = "\r\n" if rest.startswith("\r\n") or (not rest and "\r\n" in text) else "\n"
    return f"{text[: found.start()]}{head}{end}{indent}{line}{rest}"


def _read(config_file: Path, depth: int = 0) -> dict[str, Any]:
    try:
        text = config_file.read_text(encoding="utf-8-sig")
        if config_file.suffix == ".toml":
            values = tomllib.loads(text)
            return values["project"] if isinstance(values.get("project"), dict) else values
        values = yaml.load(text, _TolerantLoader)
    except OSError as error:
        raise ConfigurationError(f"{config_file} cannot be read: {reason(error)}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        what = " ".join(reason(error).split())
        raise ConfigurationError(f"{config_file} cannot be parsed: {what}.") from error
    if not isinstance(values, dict):
        raise ConfigurationError(f"{config_file} is not a configuration: it has no options.")
    parent = values.pop("INHERIT", None)
    if isinstance(parent, str) and depth < _MAX_PARENTS:
        return _merged(_read(config_file.parent / parent, depth + 1), values)
    return values


def _merged(parent: Mapping[str, Any], child: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of two files as MkDocs inherits them: mappings are merged, everything else is replaced."""
    merged = dict(parent)
    for key, value in child.items():
        inherited = merged.get(key)
        if isinstance(inherited, dict) and isinstance(value, dict):
            value = _merged(inherited, value)
        merged[key] = value
    return merged


class _TolerantLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """A safe loader that reads unknown tags (`!!python/name:`, `!relative`) as None."""


def _environment(loader: Any, node: yaml.Node) -> Any:
    """Reads `!ENV NAME` and `!ENV [NAME, OTHER, default]`."""
    is_list = isinstance(node, yaml.SequenceNode)
    names = loader.construct_sequence(node) if is_list else [loader.construct_scalar(node)]
    default = names.pop() if len(names) > 1 else None
    value = next((os.environ[str(name)] for name in names if str(name) in os.environ), None)
    return default if value is None else yaml.safe_load(value)


_TolerantLoader.add_constructor("!ENV", _environment)
_TolerantLoader.add_multi_constructor("!", lambda loader, suffix, node: None)
_TolerantLoader.add_multi_constructor("tag:yaml.org,2002:python/", lambda loader, suffix, node: None)


def _nav_entries(nav: list[Any]) -> dict[str, NavEntry]:
    entries: dict[str, NavEntry] = {}
    for path, title, sections in _walk_nav(nav):
        entries.setdefault(path, NavEntry(len(entries), title, sections))
    return entries


def _walk_nav(nav: list[Any]) -> Iterator[tuple[str, str | None, tuple[str, ...]]]:
    """Yields path, title and sections of the pages; does not recurse."""
    pending: list[tuple[Any, str | None, tuple[str, ...]]] = [(item, None, ()) for item in reversed(nav)]
    while pending:
        item, title, sections = pending.pop()
        if isinstance(item, str):
            yield PurePath(item).as_posix(), title, sections  # on Windows, MkDocs accepts backslashes, too
        elif isinstance(item, list):
            inside = (*sections, title) if title else sections
            pending.extend((child, None, inside) for child in reversed(item))
        elif isinstance(item, dict):
            pending.extend((value, str(key), sections) for key, value in reversed(item.items()))


log = logging.getLogger(__name__)

_SECONDS = 30
"""Seconds that git may take; without its answer, pages have the date of their front matter or file. Not measured."""

_COMMIT = "\x01"
_COMMAND = (
    *("git", "-c", "log.showSignature=false", "log", "-z", "--no-renames", "--name-only", "--relative"),
    f"--format={_COMMIT}%at{_COMMIT}%D",
)
_QUIET = {"GIT_OPTIONAL_LOCKS": "0", "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


class PageDates:
    """Dates of the files in a folder.

    Attributes:
        folder: the folder, in a git repository or not.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._days: dict[str | Path, datetime.date | None] = {}

    def committed(self, file: str | Path) -> datetime.date | None:
        """Returns the day of the last commit that changed a file, in UTC; None if git does not know the file."""
        if not self._committed:
            return None
        if file not in self._days:  # links are followed once for each file, not in every rebuild of a preview
            try:
                path = Path(file).resolve().relative_to(self._resolved).as_posix()
            except (OSError, ValueError):  # outside of the folder, or a circle of links
                path = ""
            self._days[file] = self._committed.get(_composed(path))
        return self._days[file]

    def written(self, file: str | Path) -> datetime.date | None:
        """Returns the day on which a file was last written, in UTC; None if it is gone."""
        try:
            return _day(os.stat(file).st_mtime)  # noqa: PTH116 - a `Path` would take longer to make
        except (OSError, ValueError, OverflowError):
            return None

    @functools.cached_property
    def _resolved(self) -> Path:
        return self.folder.resolve()

    @functools.cached_property
    def _committed(self) -> Mapping[str, datetime.date]:
        """The day of every file that git knows; empty without git, without a repository, or if git is too slow."""
        try:
            answer = subprocess.run(
                (*_COMMAND, "--", "."),
                cwd=self.folder,
                env={**os.environ, **_QUIET},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_SECONDS,
                check=True,
            )
        except (OSError, subprocess.SubprocessError) as error:
            log.debug("No dates from git for %s: %s", self.folder, error)
            return {}
        return _read_log(answer.stdout.decode("utf-8", "surrogateescape"))


def _composed(path: str) -> str:
    """Returns a path in NFC: git on macOS records file names in this form, but the disk may have them decomposed."""
    return unicodedata.normalize("NFC", path)


def _read_log(text: str) -> dict[str, datetime.date]:
    """Returns the day of the first commit in the log for every path; the log has the newest commit first."""
    found: dict[str, datetime.date] = {}
    day: datetime.date | None = None
    for item in text.split("\0"):
        part = item.lstrip("\n")
        if part.startswith(_COMMIT):
            seconds, _, names = part[1:].partition(_COMMIT)
            # In a shallow clone the oldest commit seems to have changed every file.
            day = None if "grafted" in names.split(", ") else _day_of_commit(seconds)
        elif part and day is not None:
            found.setdefault(_composed(part), day)
    return found


def _day_of_commit(seconds: str) -> datetime.date | None:
    """Returns the day of a commit; None if it has no date, or one that no calendar can show."""
    try:
        return _day(float(seconds))
    except (ValueError, OverflowError, OSError):
        return None


def _day(seconds: float) -> datetime.date:
    return datetime.datetime.fromtimestamp(seconds, datetime.UTC).date()
