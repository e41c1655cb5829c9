"""`python -m mkdocs_semsearch` is `semsearch`."""

from __future__ import annotations

import sys

from mkdocs_semsearch.cli import main

sys.exit(main())
