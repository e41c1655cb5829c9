"""Embeds with any endpoint that implements OpenAI's `/v1/embeddings`: TEI, vLLM, Ollama, llama.cpp or OpenAI itself."""

from __future__ import annotations

import json
import os
import re
import reprlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import accumulate, islice
from typing import Any
from urllib.parse import SplitResult, urlsplit

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact.manifest import EmbedderIdentity
from mkdocs_semsearch.embedding.protocol import Role, check_count, check_text, unit_rows, well_formed
from mkdocs_semsearch.errors import ConfigurationError, EmbedderUnavailableError, EmbeddingError
from mkdocs_semsearch.http_client import LONGEST_WAIT, JsonEndpoint, Reply

KEY_VARIABLES = ("SEMSEARCH_EMBEDDER_API_KEY", "OPENAI_API_KEY")
URL_VARIABLES = ("SEMSEARCH_EMBEDDER_URL", "OPENAI_BASE_URL")
DEFAULT_BASE_URL = "https://api.openai.com/v1"
BATCH_CHARACTERS = 100_000
"""Greatest number of characters in one request, because endpoints limit its size; chosen, not measured."""

# A token of ordinary text has about this many characters or more; texts that turn out longer are cut and sent again.
CHARACTERS_PER_TOKEN = 4
# The word "token" alone may mean a key: "Invalid API token" is not about the length.
TOO_LONG = re.compile(r"tokens|token (?:count|limit)|too (?:long|large|many)|context|length|exceed", re.IGNORECASE)
SHORTEST_CUT = 64
"""Number of characters below which a text is not cut further. Chosen, not measured."""

# Two attempts and the pause must fit into the 10 s of a request, so that the server can still answer in text-only mode.
QUERY_TIMEOUT = 4.0
QUERY_PAUSE = 1.0
"""Longest pause between them in seconds. Rate limits mostly ask for more, which would only occupy the worker."""

QUERY_RETRIES = 1
"""Number of retries for a query; few, because a reader is waiting."""

# Endpoints refuse empty texts.
BLANK = "."


def open_openai(
    model: str,
    *,
    base_url: str | None = None,
    dimension: int | None = None,
    dimensions: int | None = None,
    revision: str = "",
    max_tokens: int = 512,
    query_prompt: str = "",
    document_prompt: str = "",
    batch_size: int = 32,
    concurrency: int = 4,
    timeout: float = 60.0,
    retries: int = 5,
) -> OpenAIEmbedder:
    """Opens an OpenAI-compatible endpoint; nothing is sent before the first `embed` or `identity`.

    The key comes from the environment alone: `SEMSEARCH_EMBEDDER_API_KEY`, else `OPENAI_API_KEY`; none is sent if
    neither is set.

    Args:
        model: the name that the endpoint uses for the model.
        base_url: the part of the URL before `/embeddings`, usually ending in `/v1`; by default the environment's
            `SEMSEARCH_EMBEDDER_URL`, else `OPENAI_BASE_URL`, else OpenAI.
        dimension: length of the model's vectors; by default it is determined with one request to the endpoint,
            even if all texts of a build are cached.
        dimensions: request vectors of this shorter length.
        revision: part of the fingerprint: change it when the endpoint serves other weights under the same name.
        max_tokens: tokens after which a text is cut (estimated at four characters each).
        query_prompt: prefix for questions.
        document_prompt: prefix for documents.
        batch_size: greatest number of texts in a request; a request also has at most 100,000 characters.
        concurrency: number of simultaneous requests while documents are embedded.
        timeout: seconds for one request; a query gets at most 4, so that two attempts fit
            into the 10 seconds of a search.
        retries: further attempts after timeouts, broken connections and the statuses in `http_client.RETRIED`; a
            question gets at most one.

    Raises:
        ConfigurationError: an option has a value that cannot work.
    """
    check_count(1, dimension=dimension, dimensions=dimensions, max_tokens=max_tokens)
    check_count(1, batch_size=batch_size, concurrency=concurrency)
    check_count(0, retries=retries)
    check_text(model=model, revision=revision, query_prompt=query_prompt, document_prompt=document_prompt)
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < float("inf"):
        raise ConfigurationError(f"embedder.timeout: {timeout!r} is not a number of seconds above 0.")
    key = _api_key()
    url = _embeddings_address(*_base_url(base_url))
    headers = {"Accept": "application/json", **({} if key is None else {"Authorization": f"Bearer {key}"})}
    # The fingerprint is readable, not hashed: `reopen_openai` takes the options from it.
    described = {"dimensions": dimensions, "model": model, "revision": revision}
    identity = EmbedderIdentity(
        kind="openai",
        model=model,
        fingerprint=json.dumps(described, sort_keys=True),
        dimension=dimensions or dimension or 0,
        max_tokens=max_tokens,
        query_prompt=query_prompt,
        document_prompt=document_prompt,
    )
    return OpenAIEmbedder(
        identity,
        JsonEndpoint(url, headers),
        key=key,
        dimensions=dimensions,
        batch_size=batch_size,
        concurrency=concurrency,
        timeout=float(timeout),
        retries=retries,
    )


def check_own_variables() -> None:
    """Checks the variables that nothing else reads: `SEMSEARCH_EMBEDDER_URL` and `SEMSEARCH_EMBEDDER_API_KEY`.

    Raises:
        ConfigurationError: a value is invalid; the message names the variable.
    """
    if (found := _first_set(URL_VARIABLES[:1])) is not None:
        _embeddings_address(*found)
    _api_key(KEY_VARIABLES[:1])


def _first_set(names: Iterable[str]) -> tuple[str, str] | None:
    """Returns the first variable that is not blank, as `("Environment variable NAME", value)`; None if all are."""
    set_ones = ((name, value) for name in names if (value := os.environ.get(name, "").strip()))
    return next(((f"Environment variable {name}", value) for name, value in set_ones), None)


def _api_key(variables: Iterable[str] = KEY_VARIABLES) -> str | None:
    """Returns the key from the environment; None without one.

    Raises:
        ConfigurationError: the key cannot be sent.
    """
    place, key = _first_set(variables) or ("", None)
    if key is not None and not (key.isascii() and key.isprintable()):
        raise ConfigurationError(f"{place}: the key has a character that an HTTP header cannot contain.")
    return key


def _base_url(given: str | None) -> tuple[str, str]:
    """Returns the option or the variable that names the endpoint, and its value."""
    if given:
        return "embedder.base_url", given
    return _first_set(URL_VARIABLES) or ("embedder.base_url", DEFAULT_BASE_URL)


def _embeddings_address(place: str, base_url: str) -> SplitResult:
    """Returns the address of `/embeddings` under `base_url`, the value of an option or a variable.

    Raises:
        ConfigurationError: not an http or https address, or one with a password inside.
    """
    try:
        url = urlsplit(base_url.strip())
        valid = url.scheme in ("http", "https") and bool(url.hostname) and (url.port is None or url.port > 0)
    except (ValueError, AttributeError):
        valid = False
    if not valid:
        raise ConfigurationError(f"{place}: {base_url!r} is not an address such as http://localhost:8080/v1.")
    if url.username or url.password:
        raise ConfigurationError(
            f"{place}: the address contains a user name or password, which would appear in messages; set the key in "
            "the environment variable SEMSEARCH_EMBEDDER_API_KEY."
        )
    return url._replace(path=url.path.rstrip("/") + "/embeddings", fragment="")


def reopen_openai(identity: EmbedderIdentity) -> OpenAIEmbedder:
    """Opens the endpoint that embedded an index; its address comes from the environment, see `open_openai`.

    Raises:
        ConfigurationError: the identity is not one of an `OpenAIEmbedder`, or the environment has an invalid address.
    """
    try:
        described = json.loads(identity.fingerprint)
        dimensions, revision = described["dimensions"], described["revision"]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigurationError(
            f"The index names the embedder {identity.model!r} in an unknown way: rebuild it."
        ) from error
    return open_openai(
        identity.model,
        dimension=identity.dimension,
        dimensions=dimensions,
        revision=revision,
        max_tokens=identity.max_tokens,
        query_prompt=identity.query_prompt,
        document_prompt=identity.document_prompt,
    )


class OpenAIEmbedder:
    """An `Embedder` over an OpenAI-compatible endpoint; safe for use from several threads.

    How far a text's vector depends on its neighbours in a request is up to the server (float16 servers: about 1e-3).
    """

    def __init__(
        self,
        identity: EmbedderIdentity,
        endpoint: JsonEndpoint,
        *,
        key: str | None,
        dimensions: int | None,
        batch_size: int,
        concurrency: int,
        timeout: float,
        retries: int,
    ) -> None:
        """Makes an embedder; the dimension in `identity` is 0 if the endpoint must be asked, see `open_openai`."""
        self._identity = identity
        self._endpoint = endpoint
        self._key = key
        self._dimensions = dimensions
        self._batch_size = batch_size
        self._concurrency = concurrency
        self._timeout = timeout
        self._retries = retries
        self._lock = threading.Lock()

    @property
    def identity(self) -> EmbedderIdentity:
        """Model and settings that decide the vectors; sends one request if the dimension was not set."""
        # Only a build has to ask, because an index states the dimension; so no reader is waiting.
        return self._identified("document")

    def _identified(self, role: Role) -> EmbedderIdentity:
        """Returns the identity; if the endpoint has to be asked for it, then with the limits of this role."""
        with self._lock:
            if not self._identity.dimension:
                (vector,) = self._ask(["dimension"], role)
                if not vector:
                    raise EmbeddingError(f"The embedder at {self._where} answered with an empty vector.")
                self._identity = replace(self._identity, dimension=len(vector))
            return self._identity

    def embed(self, texts: Sequence[str], role: Role) -> NDArray[np.float32]:
        """Embeds texts, see `Embedder.embed`."""
        vectors = np.empty((len(texts), self._identified(role).dimension), np.float32)
        for start, rows in self.embed_in_parts(texts, role):
            vectors[start : start + len(rows)] = rows
        return vectors

    def embed_in_parts(self, texts: Sequence[str], role: Role) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Embeds texts with several requests at a time, and yields the vectors of each request when it is answered.

        A request that fails ends the iteration, but only after the vectors of those under way, which may have cost
        money, have been yielded.

        Yields:
            The number of the first text of a request, in any order, and the vectors of its texts.
        """
        identity = self._identified(role)
        prompt = identity.query_prompt if role == "query" else identity.document_prompt
        limit = identity.max_tokens * CHARACTERS_PER_TOKEN
        prompted = (prompt + well_formed(text) for text in texts)
        batches = list(_batches([text[:limit] if text.strip() else BLANK for text in prompted], self._batch_size))
        if len(batches) < 2:
            yield from ((0, self._rows(batch, role)) for batch in batches)
            return
        waiting = zip(accumulate(map(len, batches), initial=0), batches, strict=False)
        running: dict[Future[NDArray[np.float32] | None], int] = {}
        ending = threading.Event()

        def answered(batch: list[str]) -> NDArray[np.float32] | None:
            if ending.is_set():
                return None
            try:
                return self._rows(batch, role)
            except BaseException:
                ending.set()
                raise

        failure: BaseException | None = None
        with ThreadPoolExecutor(max_workers=min(self._concurrency, len(batches))) as pool:
            try:
                while True:
                    # Twice as many as there are threads, so that these do not wait for the caller.
                    free = 0 if ending.is_set() else 2 * self._concurrency - len(running)
                    running |= {pool.submit(answered, batch): start for start, batch in islice(waiting, free)}
                    if not running:
                        break
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        start = running.pop(future)
                        failure = failure or future.exception()
                        rows = None if future.exception() else future.result()
                        if rows is not None:
                            yield start, rows
            finally:
                ending.set()
        if failure is not None:
            raise failure

    def _rows(self, batch: list[str], role: Role) -> NDArray[np.float32]:
        source = f"The embedder at {self._where}"
        answer = self._ask(batch, role)
        return unit_rows(answer, count=len(batch), dimension=self._identity.dimension, source=source)

    @property
    def _where(self) -> str:
        return f"{self._endpoint.address} (model {self._identity.model!r})"

    def _ask(self, texts: list[str], role: Role) -> list[Any]:
        """Returns the vectors of one batch, in further requests if the texts are too long for one."""
        reply = self._post(texts, role)
        if reply.status == 200:
            return self._vectors(reply, len(texts))
        message = self._message(reply)
        too_long = reply.status in (400, 413, 422) and TOO_LONG.search(message)
        if too_long and len(texts) > 1:
            # Only the text that is too long may be cut: the vectors of the others must not depend on it.
            middle = len(texts) // 2
            return self._ask(texts[:middle], role) + self._ask(texts[middle:], role)
        # Some texts (code, Chinese) have more tokens per character than estimated.
        if too_long and len(texts[0]) >= SHORTEST_CUT:
            return self._ask([texts[0][: len(texts[0]) // 2]], role)
        raise self._refusal(reply.status, message)

    def _post(self, texts: list[str], role: Role) -> Reply:
        quick = role == "query"
        payload: dict[str, Any] = {"model": self._identity.model, "input": texts, "encoding_format": "float"}
        if self._dimensions is not None:
            payload["dimensions"] = self._dimensions
        try:
            return self._endpoint.post(
                payload,
                timeout=min(self._timeout, QUERY_TIMEOUT) if quick else self._timeout,
                retries=min(self._retries, QUERY_RETRIES) if quick else self._retries,
                longest_wait=QUERY_PAUSE if quick else LONGEST_WAIT,
            )
        except ConnectionError as error:
            raise EmbedderUnavailableError(
                f"The embedder at {self._endpoint.address} does not answer ({error}). Check that it runs and can "
                "be reached, or try again later."
            ) from error

    def _vectors(self, reply: Reply, count: int) -> list[Any]:
        try:
            entries = json.loads(reply.body)["data"]
            by_index = {entry.get("index", place): entry["embedding"] for place, entry in enumerate(entries)}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise EmbeddingError(
                f"The embedder at {self._where} answered with something that is not a list of embeddings: is base_url "
                "that of an OpenAI-compatible API, with /v1?"
            ) from error
        source = f"The embedder at {self._where}"
        if len(entries) != count:
            raise EmbeddingError(f"{source} answered {count} texts with {len(entries)} vectors.")
        if set(by_index) != set(range(count)):
            raise EmbeddingError(
                f'{source} gave the vectors of {count} texts an "index" of {reprlib.repr(list(by_index))} instead of '
                f"{reprlib.repr(list(range(count)))}."
            )
        vectors = [by_index[place] for place in range(count)]
        for place, vector in enumerate(vectors):
            if not isinstance(vector, list):
                advice = ": it must support encoding_format float" if isinstance(vector, str) else ""
                raise EmbeddingError(f"{source} answered with {reprlib.repr(vector)} as vector {place}{advice}.")
            if len(vector) != len(vectors[0]):
                raise EmbeddingError(
                    f"{source} answered with vectors of different lengths, {len(vectors[0])} and {len(vector)}."
                )
        return vectors

    def _message(self, reply: Reply) -> str:
        try:
            content = json.loads(reply.body)
            error = content.get("error", content.get("message", content.get("detail", content)))
            text = str(error.get("message", error) if isinstance(error, dict) else error)
        except (ValueError, AttributeError):
            text = reply.body.decode("utf-8", "replace")
        text = " ".join(text.split())[:300]
        return text if self._key is None else text.replace(self._key, "***")

    def _refusal(self, status: int, message: str) -> EmbeddingError:
        said = f" It said: {message}" if message else ""
        if status in (401, 403):
            given = "the key in the environment" if self._key else "a request without a key"
            advice = f"refused {given} (HTTP {status}): set {KEY_VARIABLES[0]} to one that may use this model."
        elif status == 404:
            advice = (
                "was not found (HTTP 404): check the model's name, and that base_url ends where /embeddings begins."
            )
        elif status == 429:
            advice = "refused the request because the account's quota is used up (HTTP 429)."
        elif 300 <= status < 400:
            advice = f"redirects elsewhere (HTTP {status}): give the final address as base_url."
        else:
            advice = f"refused the request (HTTP {status})."
        return EmbeddingError(f"The embedder at {self._where} {advice}{said}")


def _batches(texts: list[str], size: int) -> Iterator[list[str]]:
    batch: list[str] = []
    characters = 0
    for text in texts:
        if batch and (len(batch) == size or characters + len(text) > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(text)
        characters += len(text)
    if batch:
        yield batch
