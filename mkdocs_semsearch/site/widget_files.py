"""Makes the files of the search widget: assets with joined scripts, `config.json`, and the results page `search/`."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from typing import Any, Literal
from urllib.parse import quote

from mkdocs_semsearch.artifact.atomic_files import replace_file
from mkdocs_semsearch.artifact.fields import FacetDeclaration
from mkdocs_semsearch.errors import ConfigurationError, reason
from mkdocs_semsearch.site.pipeline import Settings
from mkdocs_semsearch.theme_files import ASSETS, SCRIPT, own_strings, theme_dir, widget_strings

STYLE = f"{ASSETS}/semsearch.css"
CONFIG = f"{ASSETS}/config.json"

DEFAULT_API_URL = "/-/semsearch"


def site_version() -> str | None:
    """Returns the version of the documentation that is being built, if mike or Read the Docs names it."""
    return os.environ.get("MIKE_DOCS_VERSION") or os.environ.get("READTHEDOCS_VERSION") or None


def widget_config(
    settings: Settings,
    *,
    language: str,
    version: str | None,
    results_page: bool,
    api_url: str | None = None,
    site_url: str = "",
    folders: Iterable[Path] = (),
    own: Mapping[str, Any] | None = None,
) -> str:
    """Returns the text of the `config.json` that the widget reads.

    Args:
        settings: the options; `{version}` in `api_url` is filled in.
        language: language of the site.
        version: version of the documentation, for `{version}`; None without versions. If `site_url` does not end in it,
            the widget accepts only an index with this name.
        results_page: whether the site has our page at `search/`.
        api_url: URL of the search, if it differs from the options, as in the preview.
        site_url: URL of the site, by which the widget knows whether a sidecar that it looks for answers for this site.
        folders: folders of the site that may have translations of its own, see `own_strings`.
        own: keys of the site's own `config.json`, which replace ours, except those that say what answers in a preview.
    """
    body: dict[str, Any] = {
        "api_url": api_url or sidecar_url(settings, version),
        "static": False if api_url else _static(settings, version),
        "language": language,
        "shortcut": settings.widget.shortcut,
        "fallback": settings.widget.fallback,
        "recents": settings.widget.recents,
        "suggestions": list(settings.widget.suggestions),
        "results_page": results_page,
        "strings": dict(settings.widget.strings),
        "facets": _facets(settings.facets),
    }
    if languages := own_strings(folders):
        body["own_strings"] = languages
    if settings.widget.insights_url:
        body["insights_url"] = settings.widget.insights_url
    if body["static"] == "auto":
        if site_url:
            body["site_url"] = site_url
        if version and not site_url.rstrip("/").endswith(f"/{version}"):  # as with mike's `canonical_version`
            body["version"] = version
    previewed = ("api_url", "static") if api_url else ()
    return _json(body | {key: value for key, value in (own or {}).items() if key not in previewed})


def _no_json(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def own_config(content: bytes, name: str) -> dict[str, Any]:
    """Returns the keys of a site's own `config.json`.

    Args:
        content: content of the file.
        name: its path, for the error.

    Raises:
        ConfigurationError: it is not a JSON object.
    """
    try:
        keys = json.loads(content, parse_constant=_no_json)
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"{name} is not used, because it is not JSON: {reason(error)}. Correct it.") from None
    if not isinstance(keys, dict):
        raise ConfigurationError(f'{name} is not used: write a JSON object there, such as {{"button": false}}.')
    return keys


def _json(body: Mapping[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=False, indent=1) + "\n"


def sidecar_url(settings: Settings, version: str | None) -> str | None:
    """Returns the URL of a site's sidecar, with `{version}` filled in; None for a site that needs no sidecar."""
    return _given_url(settings, version) or (None if settings.static.mode == "always" else DEFAULT_API_URL)


def _given_url(settings: Settings, version: str | None) -> str:
    """Returns the option `api_url` with `{version}` filled in; empty if it is not set or if there is no version.

    All versions together answer at the root of the sidecar, but their results are pages of other sites. So it is used
    without a version only if the browser must not search.
    """
    url = settings.api_url or ""
    if version is None and "{version}" in url:
        return url.replace("/{version}", "") if settings.static.mode == "never" else ""
    return url if version is None else url.replace("{version}", quote(version, safe=""))


def _static(settings: Settings, version: str | None) -> bool | Literal["auto"]:
    """Returns whether the browser may search by itself; `auto` if it first looks for a sidecar on its origin."""
    if settings.static.mode == "auto" and not _given_url(settings, version):
        return "auto"
    return settings.static.mode != "never"


_OUR_TAG = re.compile(rf'<script src="([^"]*{re.escape(SCRIPT)})"[^>]*></script>')
_THEME_TAG = re.compile(r'<script src="[^"]*(?:assets/javascripts/bundle\.\w+\.min|search/main)\.js"')


def place_script_first(html: str) -> str:
    """Returns a page with the widget's script moved before the first script of MkDocs' or Material's own search.

    There the script prevents the theme's search from loading its index before it is needed. Other pages are unchanged.
    """
    ours, theirs = _last_tags(html)
    if not ours or not theirs:
        return html
    first, end = min(ours.start(), theirs.start()), max(ours.end(), theirs.end())
    rest = html[first : ours.start()] + html[ours.end() : end]
    place = rest.index(theirs[0])
    return f'{html[:first]}{rest[:place]}<script src="{ours[1]}"></script>\n{rest[place:]}{html[end:]}'


def _last_tags(html: str) -> tuple[re.Match[str] | None, re.Match[str] | None]:
    """Returns the tags of our script and of the theme's search, searched from the end, where a page has its scripts."""
    ours = theirs = None
    place = len(html)
    while (ours is None or theirs is None) and (place := html.rfind("<script src=", 0, place)) >= 0:
        ours = ours or _OUR_TAG.match(html, place)
        theirs = theirs or _THEME_TAG.match(html, place)
    return ours, theirs


def withdraw_static(site_dir: Path) -> None:
    """Marks a built site as having no static search files, in its `config.json`, whatever its author wrote there."""
    _change_config(site_dir / CONFIG, static=False)


def add_languages(
    site_dir: Path, languages: Sequence[str], facets: Sequence[FacetDeclaration], own: Container[str] = ()
) -> None:
    """Adds the languages of the pages and the facets to the `config.json` of a built site.

    Args:
        site_dir: folder of the built site; if it lacks our `config.json`, nothing is changed.
        languages: language tags of the pages; a single language is not written.
        facets: facets of the index.
        own: keys of the site's own `config.json`, which stay as they are.
    """
    file = site_dir / CONFIG
    if len(languages) >= 2 and file.is_file():
        entries = {"languages": list(languages), "facets": _facets(facets)}
        _change_config(file, **{key: value for key, value in entries.items() if key not in own})


def _change_config(file: Path, **entries: Any) -> None:
    body = json.loads(file.read_text(encoding="utf-8"))
    replace_file(file, _json(body | entries))  # the server of a preview may be reading it


def _facets(facets: Sequence[FacetDeclaration]) -> list[dict[str, str]]:
    return [{"name": facet.name, "type": facet.type, "label": facet.label} for facet in facets]


RESULTS_PAGE = "search/index.html"
"""Path in the built site, and name of the template."""

_OURS = 'data-semsearch="page"'


def results_page_context(
    settings: Settings,
    *,
    language: str,
    folders: Iterable[Path],
    base: str = "main.html",
    api_url: str | None = None,
) -> dict[str, Any]:
    """Returns the variables of the template under the name `semsearch`.

    Args:
        settings: the options.
        language: language of the site.
        folders: folders of the site that may have a translation of its own, see `widget_strings`.
        base: the template that the page extends.
        api_url: URL of the search, if it differs from the options.
    """
    spoken, strings = widget_strings(language, folders)
    return {
        "base": base,
        "language": spoken,
        "api_url": api_url or sidecar_url(settings, site_version()),
        "strings": {**strings, **settings.widget.strings},
    }


def write_results_page(site_dir: Path, settings: Settings, *, language: str, site_name: str) -> bool:
    """Writes the results page into a site that another generator has built.

    Returns:
        Whether the site now has our results page; the site's own page at this path is kept.
    """
    file = site_dir / RESULTS_PAGE
    if file.is_file() and not is_results_page(file.read_text(encoding="utf-8", errors="replace")):
        return False
    file.parent.mkdir(parents=True, exist_ok=True)
    html = plain_results_page(settings, language=language, folders=[site_dir], site_name=site_name)
    file.write_text(html, encoding="utf-8")
    return True


def is_results_page(html: str) -> bool:
    """Returns whether a page has our form."""
    return _OURS in html


def plain_results_page(
    settings: Settings, *, language: str, folders: Iterable[Path], site_name: str, api_url: str | None = None
) -> str:
    """Returns the results page as plain HTML that uses no theme; for the arguments see `results_page_context`."""
    from jinja2 import Environment, FileSystemLoader

    template = Environment(loader=FileSystemLoader(theme_dir()), autoescape=True).get_template(RESULTS_PAGE)
    base = f"{ASSETS}/plain.html"
    context = results_page_context(settings, language=language, folders=folders, base=base, api_url=api_url)
    return template.render(semsearch=context, config={"site_name": site_name})


ENTRIES = ("dialog.js", "static/worker.js", "static/answering.js")
"""Scripts that are published together with everything they import."""

_IMPORT = re.compile(r'^import (?:\{\s+([^}]+?),?\s+\} from )?"(\.[^"]+)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:async )?(?:function|class|const) (\w+))", re.MULTILINE)
# A comment after code follows one of these characters and a space; none of our strings contains that.
_COMMENT = re.compile(r"^[ \t]*(?://.*|/\*[\s\S]*?\*/)\n|(?<=[;,{}(\[]) // .*", re.MULTILINE)
_INDENTATION = re.compile(r"^\s+", re.MULTILINE)  # and empty lines; no template literal of ours has several lines
_CSS_SPACE = re.compile(r"\s*([{};])\s*")  # no string in our style sheets has such a sign


def publish_assets(assets: Path, source: Path) -> None:
    """Writes each script as one file with the modules that it imports, every file without comments and spare spaces.

    On a slow connection, every file that imports another one would take a second longer. And if the other one gets
    lost, Firefox and Safari do not request it again. A script that is loaded after the dialog imports from the dialog
    what is there. A module becomes a function that returns its exports, so that names of different modules do not
    collide.

    Args:
        assets: the folder of the widget in the site, with copies of the sources. Missing files, and those that are not
            equal to their source, stay as they are: a site can have its own. Only the entries are always replaced,
            because other scripts import from them.
        source: the folder with the sources.
    """
    states = ((path, path.stat()) for path in sorted((*source.rglob("*.js"), *source.rglob("*.css"))))
    files = tuple((path, status.st_mtime_ns, status.st_size) for path, status in states)
    for name, copied, text in _published_assets(source, files):
        with suppress(FileNotFoundError):
            if (assets / name).read_bytes() == copied or name in ENTRIES:
                (assets / name).write_bytes(text)


@lru_cache(maxsize=1)  # a preview needs the same files in every rebuild
def _published_assets(source: Path, files: tuple[tuple[Path, int, int], ...]) -> list[tuple[str, bytes, bytes]]:
    """Returns the name, the source and the published form of every script and style sheet.

    Args:
        source: the folder with the sources.
        files: path, time of the last change in ns, and size in bytes of every source.
    """
    sources = {path.relative_to(source).as_posix(): path.read_bytes() for path, _, _ in files}
    # A checkout on Windows has other line ends.
    texts = {name: content.decode("utf-8").replace("\r\n", "\n") for name, content in sources.items()}
    plain = {name: _COMMENT.sub("", text) for name, text in texts.items()}
    members = {entry: list(_modules(entry, plain)) for entry in ENTRIES}
    joined = {name for names in members.values() for name in names}
    published = []
    for name, text in plain.items():
        if name.endswith(".css"):
            text = _CSS_SPACE.sub(r"\1", text)
        elif name in ENTRIES:
            text = _one_script(members[name], plain, exporting=members[name])
        elif name not in joined:
            text = _later_script(name, plain, members[ENTRIES[0]])
        published.append((name, sources[name], _INDENTATION.sub("", text).encode()))
    return published


def _modules(name: str, texts: dict[str, str], seen: set[str] | None = None) -> Iterator[str]:
    """Yields modules, each after all modules that it imports names from."""
    seen = set() if seen is None else seen
    if name in seen:
        return
    seen.add(name)
    for imported, address in _IMPORT.findall(texts[name]):
        if imported:
            yield from _modules(_resolved(name, address), texts, seen)
    yield name


def _resolved(name: str, address: str) -> str:
    return normpath(PurePosixPath(name).parent / address)


def _variable(name: str) -> str:
    return f"{PurePosixPath(name).stem}Module"


def _one_script(names: list[str], texts: dict[str, str], *, exporting: list[str], dialog: Collection[str] = ()) -> str:
    """Returns one script with the contents of these modules, each after those that it imports.

    Args:
        names: the modules.
        texts: the contents of all modules.
        exporting: the modules whose exports are those of the script.
        dialog: the modules whose exports are in a variable for the joined dialog.
    """
    parts, exports = [], []
    for name in names:
        found = ", ".join(exported for _, exported in _EXPORT.findall(texts[name]))

        def variables(match: re.Match[str], name: str = name) -> str:
            module = _resolved(name, match[2])
            module = ENTRIES[0] if module in dialog else module
            return f"const {{ {match[1]} }} = {_variable(module)};\n" if match[1] else ""

        body = _EXPORT.sub(r"\1", _IMPORT.sub(variables, texts[name]))
        parts.append(f"const {_variable(name)} = (() => {{\n{body}return {{ {found} }};\n}})();\n")
        if name in exporting:
            exports.append(f"export const {{ {found} }} = {_variable(name)};\n")
    return "".join(parts + exports)


def _later_script(name: str, texts: dict[str, str], dialog: Collection[str]) -> str:
    """Returns a script that imports from the joined dialog, which is already loaded, and contains the other modules."""
    address = relpath(ENTRIES[0], str(PurePosixPath(name).parent))
    address = address if address.startswith(".") else f"./{address}"
    own = [module for module in _modules(name, texts) if module not in dialog]
    if len(own) > 1:
        script = _one_script(own, texts, exporting=[name], dialog=dialog)
        return f'import * as {_variable(ENTRIES[0])} from "{address}";\n{script}'

    def changed(match: re.Match[str]) -> str:
        if _resolved(name, match[2]) not in dialog:
            return match[0]
        names = f"{{ {match[1]} }} from " if match[1] else ""
        return f'import {names}"{address}";\n'

    return _IMPORT.sub(changed, texts[name])
