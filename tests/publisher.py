"""A web server for a published index, which may redirect every request."""

from __future__ import annotations

import http.server
import threading
from base64 import b64encode
from contextlib import contextmanager


@contextmanager
def publisher(root=None, redirect=None, login=None, tag=None):
    """Serves a folder, or redirects every request; yields the URL and the requested paths.

    With `login` (`name:password`), requests without it get 401; with `tag`, this is the entity tag of every file.
    """
    asked = []

    class Handler(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=root)

        def do_GET(self):
            asked.append(self.path)
            if login is not None and self.headers.get("Authorization") != f"Basic {b64encode(login.encode()).decode()}":
                self.send_error(401)
                return
            if tag is not None and self.headers.get("If-None-Match") == tag:
                self.send_response(304)
                self.end_headers()
                return
            target = redirect(self.path) if redirect is not None else None
            if target is None:
                super().do_GET()
                return
            self.send_response(302)
            self.send_header("Location", target)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def end_headers(self):
            if tag is not None:
                self.send_header("ETag", tag)
            super().end_headers()

        def log_message(self, *arguments):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}/", asked
        server.shutdown()
