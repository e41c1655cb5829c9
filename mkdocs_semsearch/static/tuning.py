"""Trains token tables, in which the sum of a text's token vectors approximates the model's vector of the text.

The table of a site is the shipped table, trained further on the site's sentences, or a new table for another model.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.artifact import open_index
from mkdocs_semsearch.artifact.atomic_files import replace_file
from mkdocs_semsearch.artifact.manifest import CHUNKS
from mkdocs_semsearch.embedding.protocol import Embedder, Role, embedded
from mkdocs_semsearch.embedding.token_table import (
    CONTINUATION,
    TokenTable,
    question_words,
    read_table,
    shipped_table,
    write_table,
)
from mkdocs_semsearch.errors import MissingExtraError

if TYPE_CHECKING:
    import torch

_RARE = 1e-3
"""The parameter `a` of SIF; Arora et al. recommend 1e-3 to 1e-4."""

_TEMPERATURE = 0.05
"""Temperature of the contrastive term."""


@dataclass(frozen=True, slots=True)
class Training:
    """Parameters of the training.

    Attributes:
        epochs: number of passes over the texts.
        rate: greatest learning rate.
        batch: number of texts that the contrastive term compares at once.
    """

    epochs: int
    rate: float = 6e-3
    batch: int = 1024


def smooth_inverse_frequency(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Returns the weights of tokens before training, from their frequencies (Arora et al., SIF, 2017)."""
    share = (counts + 0.5) / max(1, int(counts.sum()))
    return np.asarray(_RARE / (_RARE + share), np.float32)


def train(
    vectors: NDArray[np.float32], texts: Sequence[Sequence[int]], targets: NDArray[np.float32], training: Training
) -> NDArray[np.float32]:
    """Returns trained vectors; vectors of tokens that occur in no text are unchanged.

    Args:
        vectors: float32 `[tokens, d]`, the initial vectors.
        texts: the token numbers of each text.
        targets: float32 `[texts, d]`, the model's vector of each text.
        training: the parameters of the training.
    """
    import torch
    from torch.nn import functional

    kept = [row for row, tokens in enumerate(texts) if len(tokens)]
    tokens = [np.asarray(texts[row], np.int64) for row in kept]
    lengths = np.linalg.norm(targets[kept], axis=1, keepdims=True)
    wanted = torch.from_numpy(np.asarray(targets[kept] / np.maximum(lengths, 1e-9), np.float32))
    batch = min(training.batch, max(1, len(tokens)))
    steps = training.epochs * (len(tokens) // batch)
    if not steps:
        return vectors
    before = torch.get_num_threads()
    torch.set_num_threads(1)  # so that every run gives the same bits
    try:
        torch.manual_seed(0)
        order = np.random.default_rng(0)
        table = torch.nn.EmbeddingBag.from_pretrained(
            torch.from_numpy(vectors.copy()), freeze=False, mode="sum", sparse=True
        )
        optimizer = torch.optim.SparseAdam(table.parameters(), lr=training.rate)
        schedule = torch.optim.lr_scheduler.OneCycleLR(
            optimizer, training.rate, total_steps=steps + 1, pct_start=0.1, cycle_momentum=False
        )
        for _ in range(training.epochs):
            for rows, flat, offsets in _batches(tokens, order.permutation(len(tokens)), batch):
                loss = _loss(functional.normalize(table(flat, offsets), dim=1), wanted[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        trained: NDArray[np.float32] = table.weight.detach().numpy()
        return trained
    finally:
        torch.set_num_threads(before)


def _batches(
    tokens: Sequence[NDArray[np.int64]], order: NDArray[np.int64], size: int
) -> Iterator[tuple[NDArray[np.int64], torch.Tensor, torch.Tensor]]:
    """Yields the texts of each batch, their tokens one after the other, and the place where each text begins."""
    import torch

    for start in range(0, len(tokens) - size + 1, size):
        rows = order[start : start + size]
        some = [tokens[row] for row in rows]
        begins = np.concatenate([[0], np.cumsum(list(map(len, some)))[:-1]])
        yield rows, torch.from_numpy(np.concatenate(some)), torch.from_numpy(begins)


def _loss(found: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Returns how far vectors are from the wanted ones, and how hard they are to tell apart; both are unit rows."""
    import torch
    from torch.nn import functional

    similarity = found @ wanted.T / _TEMPERATURE
    own = torch.arange(len(wanted))
    contrast = functional.cross_entropy(similarity, own) + functional.cross_entropy(similarity.T, own)
    return (1 - (found * wanted).sum(1)).mean() + 0.5 * contrast


MOST_SENTENCES = 10_000
"""Greatest number of sentences for training; embedding them takes nearly all of the time. Chosen, not measured."""

_VERSION = 1
"""Part of the cache key; increased when the training changes."""

_COMPONENTS = 256
"""Number of dimensions of a cached table; more than any bundle uses."""

_LEAST_COUNT = 3
_MOST_NEW_WORDS = 4_000
"""Least number of sentences with a new word, and greatest number of new words, each of which adds a token to the
bundle; chosen, not measured."""

_TUNING = Training(epochs=6, rate=2e-3)
_FROM_THE_MODEL = Training(epochs=15)


def tuned_table(index_dir: Path, embedder: Embedder, *, base: TokenTable | None, cache_dir: Path) -> TokenTable:
    """Trains the table of a site, or reads it from the cache if sentences and model are unchanged.

    Args:
        index_dir: index folder of the site.
        embedder: the embedder of the index.
        base: a table for its model that is trained further; None to start from the model's vectors of single words.
        cache_dir: folder of cached tables.

    Raises:
        EmbeddingError: a sentence could not be embedded.
        MissingExtraError: PyTorch is not installed.
    """
    sentences = site_sentences(_chunks(index_dir), MOST_SENTENCES)
    path = cache_dir / f"static-table-{_key(sentences, embedder, base)}.npz"
    with contextlib.suppress(
        OSError, EOFError, ValueError, LookupError, RuntimeError, BadZipFile
    ):  # missing or damaged
        return read_table(path)
    if find_spec("torch") is None:
        raise MissingExtraError(
            "Option 'static': tune needs PyTorch: run pip install \"mkdocs-semsearch[models]\", or leave tune out."
        )
    tokens, vectors = _trained(sentences, embedder, base)
    with tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / path.name
        write_table(made, tokens, vectors, min(_COMPONENTS, vectors.shape[1]))
        with contextlib.suppress(OSError):  # a build never fails because of its cache
            cache_dir.mkdir(parents=True, exist_ok=True)
            for old in cache_dir.glob("static-table-*.npz"):
                old.unlink(missing_ok=True)
            replace_file(path, made.read_bytes())
        return read_table(made)


def _key(sentences: Sequence[str], embedder: Embedder, base: TokenTable | None) -> str:
    parts: list[Any] = [_VERSION, dataclasses.asdict(embedder.identity), base.fingerprint if base else None, *sentences]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def _trained(
    sentences: Sequence[str], embedder: Embedder, base: TokenTable | None
) -> tuple[list[str], NDArray[np.float32]]:
    known = base or shipped_table()
    counts = Counter(word for sentence in sentences for word in question_words(sentence))
    tokens = [*known.vocabulary.tokens, *_new_words(counts, known.vocabulary.tokens)]
    vectors = _first_vectors(tokens, embedder, base)
    table = TokenTable(tokens, vectors)
    texts = [table.vocabulary.numbers(sentence) for sentence in sentences]
    if base is None:
        used = np.bincount(np.array([i for text in texts for i in text], np.int64), minlength=len(tokens))
        vectors = vectors * smooth_inverse_frequency(used)[:, None]
    targets = _embedded(sentences, embedder)
    return tokens, train(vectors, texts, targets, _FROM_THE_MODEL if base is None else _TUNING)


def _new_words(counts: Mapping[str, int], known: Sequence[str]) -> list[str]:
    """Returns frequent words of a site that the table would split into pieces, most frequent first."""
    have = set(known)
    new = [word for word, count in counts.items() if count >= _LEAST_COUNT and word not in have]
    return sorted(new, key=lambda word: (-counts[word], word))[:_MOST_NEW_WORDS]


def _first_vectors(tokens: Sequence[str], embedder: Embedder, base: TokenTable | None) -> NDArray[np.float32]:
    """Returns the initial vectors: for new words the sum of their pieces, for another model its token vectors."""
    if base is None:
        return _embedded([token.removeprefix(CONTINUATION) or token for token in tokens], embedder)
    pieces = [base.vocabulary.of_word(word) for word in tokens[len(base.vocabulary.tokens) :]]
    sums = [base.vectors[list(numbers)].sum(axis=0) for numbers in pieces]
    return np.asarray(np.vstack([base.vectors, *sums]), np.float32)


def _embedded(texts: Sequence[str], embedder: Embedder) -> NDArray[np.float32]:
    """Embeds texts as queries, or as documents if the prompts are equal, because that may be faster."""
    identity = embedder.identity
    ordered = sorted(range(len(texts)), key=lambda number: len(texts[number]))
    role: Role = "document" if identity.query_prompt == identity.document_prompt else "query"
    vectors = np.empty((len(texts), identity.dimension), np.float32)
    vectors[ordered] = embedded(embedder, [texts[number] for number in ordered], role)
    return vectors


def _chunks(index_dir: Path) -> list[dict[str, Any]]:
    import pyarrow.parquet as pq

    columns = ["heading_hierarchy", "content"]
    rows: list[dict[str, Any]] = pq.read_table(open_index(index_dir).build_dir / CHUNKS, columns=columns).to_pylist()
    return rows


_FENCE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n.*?(?:^\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_END = re.compile(r"(?<=[.!?])\s+|\n+|(?<=[。！？])")
_MARKS = re.compile(r"[*_`|#>]+")
_LONGEST = 300
_SHORTEST = 12
"""Least and greatest length of a sentence: shorter ones are fragments, longer ones lists and tables. Not measured."""


def site_sentences(chunks: Iterable[Mapping[str, Any]], most: int) -> list[str]:
    """Returns distinct headings and sentences of a site, evenly sampled if there are more than `most`."""
    found = list(dict.fromkeys(_texts(chunks)))
    if len(found) <= most:
        return found
    return [found[i] for i in np.linspace(0, len(found) - 1, most).astype(int)]


def _texts(chunks: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for chunk in chunks:
        path = chunk["heading_hierarchy"]
        yield path[-1]
        yield " ".join(path[-2:])
        for sentence in _END.split(_FENCE.sub("\n", chunk["content"])):
            bare = " ".join(_MARKS.sub(" ", sentence).split())
            if _SHORTEST <= len(bare) <= _LONGEST:
                yield bare
