"""Trains the default encoder on documentation, and measures the result on sites that are not in the training data.

    python benchmarks/training_pairs.py CLONES --out pairs.jsonl
    python benchmarks/taught_encoder.py train pairs.jsonl --out taught [--steps 700] [--average 0.5]
    python benchmarks/taught_encoder.py judge taught/encoder argo-cd=SITE/semsearch-index … \
        --queries ../shared/eval/*.jsonl

`train` is seeded: multiple-negatives ranking loss in both directions (Henderson et al., Efficient Natural Language
Response Suggestion, 2017) over batches of one site. Three clusters of near misses by TF-IDF in every batch are the hard
negatives. The token embeddings and the two lower layers stay. `--average` takes that much of the taught weights and the
rest of the original ones (Wortsman et al., Robust fine-tuning of zero-shot models, CVPR 2022).

`judge` embeds the chunks of finished indexes again and prints every set at several weights of meaning; with `-` in
place of an encoder it judges the one that is shipped. What was measured is in `results/taught_encoder.json`: hybrid
search does not gain on real questions, so the encoder is not shipped.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import fit_ranking
import numpy as np
import pyarrow.parquet as pq

from mkdocs_semsearch import Searcher, open_searcher
from mkdocs_semsearch.artifact import WEIGHTS, read_manifest
from mkdocs_semsearch.chunking import embedding_text
from mkdocs_semsearch.embedding import DEFAULT_MODEL, open_embedder
from mkdocs_semsearch.embedding.model_files import resolve_model
from mkdocs_semsearch.embedding.onnx_encoder import OnnxEmbedder, load_query_encoder
from mkdocs_semsearch.embedding.onnx_export import export_query_encoder
from mkdocs_semsearch.searching.evaluation import read_queries
from mkdocs_semsearch.searching.vector_store import VectorStore

BATCH, CLUSTERS, CLUSTER = 32, 3, 8
QUESTION_TOKENS, DOCUMENT_TOKENS = 48, 128
RATE, WARM_UP, TEMPERATURE = 4e-5, 60, 1 / 20
FROZEN_LAYERS = 2
LEAST_OF_SITE, RARE_OF_SITE, HEADINGS_OF_SITE = 100, 800, 700
"""Pairs of one site: fewer say little of it; of commits, links and descriptions; of headings."""
SEMANTIC_WEIGHTS = (1.0, 0.4, 0.45, 0.5, 0.55, 0.6, 0.7)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    training = commands.add_parser("train", help="train on pairs and export in 8 bits")
    training.add_argument("pairs", type=Path)
    training.add_argument("--out", type=Path, required=True)
    training.add_argument("--steps", type=int, default=700)
    training.add_argument("--average", type=float, default=1.0, help="share of the taught weights; 1 keeps them alone")
    judging = commands.add_parser("judge", help="measure an exported encoder")
    judging.add_argument("encoder", help="folder of an exported encoder, or -")
    judging.add_argument("indexes", nargs="+", metavar="CORPUS=INDEX")
    judging.add_argument("--queries", nargs="+", type=Path, required=True)
    arguments = parser.parse_args()
    if arguments.command == "train":
        train(arguments.pairs, arguments.out, steps=arguments.steps, average=arguments.average)
    else:
        judge(arguments.encoder, dict(item.split("=", 1) for item in arguments.indexes), arguments.queries)


def train(pairs: Path, out: Path, *, steps: int, average: float) -> None:
    """Writes `out/model`, a model of sentence-transformers, and `out/encoder`, its export."""
    import torch
    from sentence_transformers import SentenceTransformer
    from torch.nn import functional

    torch.manual_seed(7)
    chosen = random.Random(7)
    model = SentenceTransformer(str(resolve_model(DEFAULT_MODEL, download=False)), device="cpu")
    original = {name: value.clone() for name, value in model.state_dict().items()}
    model.eval()  # a few hundred steps need no dropout
    transformer = model[0].auto_model
    for part in (transformer.embeddings, *transformer.encoder.layer[:FROZEN_LAYERS]):
        part.requires_grad_(requires_grad=False)
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    optimizer = torch.optim.AdamW(weights, weight_decay=0.01)
    batches = batches_of(read_pairs(pairs, chosen), chosen)
    print(f"{len(batches)} batches", flush=True)
    started, losses = time.monotonic(), []

    def embed(texts: Sequence[str], tokens: int) -> Any:
        model.max_seq_length = tokens
        return functional.normalize(model(model.preprocess(texts))["sentence_embedding"].float(), dim=-1)

    for step in range(steps):
        batch = batches[step % len(batches)]
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1, (step + 1) / WARM_UP) * (1 - step / steps)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            questions = embed([question for question, _ in batch], QUESTION_TOKENS)
            documents = embed([document for _, document in batch], DOCUMENT_TOKENS)
        scores = questions @ documents.T / TEMPERATURE
        right = torch.arange(len(batch))
        loss = (functional.cross_entropy(scores, right) + functional.cross_entropy(scores.T, right) / 2) / 1.5
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
        if (step + 1) % 25 == 0:
            pace = (time.monotonic() - started) / (step + 1)
            print(f"{step + 1} of {steps}, loss {np.mean(losses[-25:]):.3f}, {pace:.1f} s a step", flush=True)
    model.load_state_dict({name: original[name].lerp(value, average) for name, value in model.state_dict().items()})
    model.max_seq_length = 256
    model.save(str(out / "model"))
    (out / "encoder").mkdir(parents=True, exist_ok=True)
    print(export_query_encoder(open_embedder(model=str(out / "model"), runtime="torch", device="cpu"), out / "encoder"))


def read_pairs(file: Path, chosen: random.Random) -> list[list[dict[str, Any]]]:
    """Returns the pairs site by site, no site with more than its share."""
    by_site: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for line in file.read_text(encoding="utf-8").splitlines():
        pair = json.loads(line)
        by_site[pair["site"]].append(pair)
    sites = []
    for pairs in by_site.values():
        chosen.shuffle(pairs)
        rare = [pair for pair in pairs if pair["kind"] != "heading"][:RARE_OF_SITE]
        headings = [pair for pair in pairs if pair["kind"] == "heading"]
        kept = rare + headings[: min(HEADINGS_OF_SITE, max(200, len(rare)))]
        if len(kept) >= LEAST_OF_SITE:
            sites.append(kept)
    return sites


def batches_of(sites: Sequence[Sequence[dict[str, Any]]], chosen: random.Random) -> list[list[tuple[str, str]]]:
    """Returns batches of one site each, in which some pairs are near to each other by their words."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    batches = []
    for pairs in sites:
        questions, documents = ([pair[name] for pair in pairs] for name in ("question", "document"))
        words = TfidfVectorizer(sublinear_tf=True, stop_words="english", min_df=2).fit(questions + documents)
        near = (words.transform(questions) @ words.transform(documents).T).toarray()
        left = set(range(len(pairs)))
        while len(left) >= BATCH:
            batch: list[int] = []
            sections: set[int] = set()
            for _ in range(CLUSTERS):
                seed = chosen.choice(sorted(left))
                wanted = len(batch) + CLUSTER
                for row in (seed, *np.argsort(-near[seed])[:60].tolist()):
                    take(row, pairs, batch, sections, left, wanted)
            rest = sorted(left)
            chosen.shuffle(rest)
            for row in rest:
                take(row, pairs, batch, sections, left, BATCH)
            batches.append([(questions[row], documents[row]) for row in batch])
    chosen.shuffle(batches)
    return batches


def take(
    row: int, pairs: Sequence[dict[str, Any]], batch: list[int], sections: set[int], left: set[int], most: int
) -> None:
    """Moves a pair into the batch, unless that is full or has its section: a second one would be a wrong negative."""
    section = pairs[row]["section"]
    if row in left and len(batch) < most and section not in sections:
        batch.append(row)
        sections.add(section)
        left.discard(row)


def judge(encoder: str, folders: dict[str, str], queries: Sequence[Path]) -> None:
    """Prints MRR@10 of every set by the semantic weight."""
    taught = None if encoder == "-" else load_query_encoder(Path(encoder))
    sites = {name: open_searcher(folder) for name, folder in folders.items()}
    for name, site in sites.items():
        if taught is not None:
            exchange_encoder(site, Path(folders[name]), taught)
        print(f"{name}: {site.manifest.chunks} chunks", flush=True)
    sets = {path.stem.removesuffix("_queries"): read_queries(path) for path in queries}
    cases = [case for name, site in sites.items() for case in fit_ranking.cases_of(name, site, sets)]
    now = {key: float(WEIGHTS[key[0]][key[1]]) for key in fit_ranking.GRID}
    gains = fit_ranking.Gains(cases)
    for weight in SEMANTIC_WEIGHTS:
        fit_ranking.show(f"meaning {weight}", gains.of({**now, ("fusion", "semantic"): weight}))


def exchange_encoder(site: Searcher, folder: Path, taught: OnnxEmbedder) -> None:
    """Makes an open index answer with other vectors, in memory only."""
    build = folder / read_manifest(folder).build_id
    table = pq.read_table(build / "chunks.parquet", columns=["heading_hierarchy", "content"]).to_pylist()
    texts = [embedding_text(row["heading_hierarchy"] or (), row["content"]) for row in table]
    with np.load(build / "graph.npz") as graph:
        vectors = VectorStore(taught.embed(texts, "document"), graph["indptr"], graph["indices"])
    backend: Any = site._backend
    backend._sides = replace(backend._sides, vectors=vectors)
    searcher: Any = site
    searcher._encoder = QueryVectors(taught)


class QueryVectors:
    """Embeds queries; the part of a `QueryEncoder` that the judge needs."""

    def __init__(self, encoder: OnnxEmbedder) -> None:
        self._encoder = encoder

    def embed(self, text: str) -> np.ndarray[Any, Any]:
        """Returns float32 `[d]`, unit length."""
        return self._encoder.embed([text], "query")[0]


if __name__ == "__main__":
    main()
