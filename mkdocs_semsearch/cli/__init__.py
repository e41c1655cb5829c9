"""The command `semsearch`: parses its arguments, runs a subcommand, and turns errors into exit codes.

`arguments` defines the arguments, `commands` has the subcommands, `indexes` finds the indexes that they name, `text`
formats what they print, and `streams` keeps the standard streams usable.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mkdocs_semsearch.cli.streams import (
    discard_lost_messages,
    replace_closed_streams,
    say,
    write_anything,
    write_nothing_more,
)
from mkdocs_semsearch.errors import QueryError, SemsearchError, is_panic, reason

if TYPE_CHECKING:
    import argparse

_USAGE_FIELDS = ("facets", "filters", "language", "limit", "min_score", "offset", "query")
"""Fields of a query that come straight from an argument, so a wrong value is wrong usage."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command and returns its exit code."""
    replace_closed_streams()
    write_anything()
    code = 0
    try:
        code = _run(arguments)
        sys.stdout.flush()  # here, so that a closed pipe is caught below
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:  # the reader has closed the pipe
        write_nothing_more(sys.stdout)
    except OSError as error:
        write_nothing_more(sys.stdout)
        place = "The output cannot be written" if error.filename is None else f"{error.filename} cannot be used"
        say(f"{place}: {reason(error)}.")
        code = 1
    discard_lost_messages()
    return code


def _run(arguments: Sequence[str] | None) -> int:
    """Runs one command and returns its exit code; the errors of the package and of libraries are said."""
    try:
        # Here, so that Ctrl+C ends the command quietly while this is imported, too.
        from mkdocs_semsearch.cli.arguments import build_parser, parse_arguments
        from mkdocs_semsearch.cli.commands import COMMANDS

        parser = build_parser(COMMANDS)
        given = parse_arguments(parser, arguments)
        command: Callable[[argparse.Namespace], int] | None = getattr(given, "command", None)
        if command is None:
            parser.print_help()
            return 2
        return command(given)
    except SystemExit as ended:  # argparse has printed the help, or what is wrong
        return int(ended.code or 0)
    except SemsearchError as error:
        say(str(error))
        return 2 if isinstance(error, QueryError) and error.field in _USAGE_FIELDS else 1
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("mkdocs_semsearch"):
            raise
        say(
            f"{error.name} is missing: run pip install mkdocs-semsearch, or, to search only, install what `semsearch "
            "requirements` lists."
        )
        return 1
    except (KeyboardInterrupt, OSError):
        raise
    except BaseException as error:
        if not is_panic(error):
            raise
        say(f"A library failed ({error}): check the index with `semsearch inspect --verify`.")
        return 1
