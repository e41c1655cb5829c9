"""Worker threads, and a limit on the requests that wait for them."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from mkdocs_semsearch.serving.responses import HttpError

__all__ = ["Workers"]

Answer = TypeVar("Answer")

THREADS = max(4, min(32, 2 * (os.cpu_count() or 1)))


class Workers:
    """Runs requests in threads: some at a time, some more in a queue, and none beyond that.

    A queue that grows makes every answer late; a client that is refused at once can try again.

    Args:
        max_concurrent: requests that run or wait.
        request_seconds: time limit of a request. Its thread cannot be stopped, so it keeps its place until it ends.
    """

    def __init__(self, max_concurrent: int = 64, request_seconds: float = 10.0) -> None:
        self._places = threading.Semaphore(max_concurrent)
        self._seconds = request_seconds
        self._limiter: anyio.CapacityLimiter | None = None

    async def run(self, work: Callable[[], Answer]) -> Answer:
        """Runs `work` in a thread.

        Raises:
            HttpError: 503, all places are taken, or it took too long.
        """
        self._take_place()
        turn = _Turn(self._places)
        if self._limiter is None:  # belongs to the event loop, which exists only now
            self._limiter = anyio.CapacityLimiter(THREADS)
        try:
            with anyio.fail_after(self._seconds):
                return await anyio.to_thread.run_sync(turn.take, work, abandon_on_cancel=True, limiter=self._limiter)
        except TimeoutError:
            message = f"The answer took longer than {self._seconds:g} s and was given up: try again later."
            raise HttpError(503, "timed_out", message, headers=(("retry-after", "5"),)) from None
        finally:
            turn.give_up()

    def _take_place(self) -> None:
        if not self._places.acquire(blocking=False):
            message = "The server is answering as many requests as it can: try again in 1 s."
            raise HttpError(503, "busy", message, headers=(("retry-after", "1"),))


class _Turn:
    """A place in the queue that is released once: by the thread at its end, or by the waiter if it never started."""

    def __init__(self, places: threading.Semaphore) -> None:
        self._places = places
        self._lock = threading.Lock()
        self._taken = False

    def take(self, work: Callable[[], Answer]) -> Answer:
        if not self._begin():
            raise RuntimeError("given up before it began")  # no client waits for the answer
        try:
            return work()
        finally:
            self._places.release()

    def give_up(self) -> None:
        if self._begin():
            self._places.release()

    def _begin(self) -> bool:
        with self._lock:
            first, self._taken = not self._taken, True
        return first
