"""Traces a sentence-transformers model to one ONNX graph: token ids in, unit vectors out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mkdocs_semsearch.embedding.torch import SentenceTransformerEmbedder, quiet_libraries

__all__ = ["INPUTS", "OUTPUT", "trace_encoder", "why_not_traceable"]

INPUTS = ("input_ids", "attention_mask")
OUTPUT = "embedding"
OPSET = 17
TRACEABLE = frozenset({"Transformer", "Pooling", "Dense", "Normalize"})
# A graph in one file is a protobuf message, which ends at 2 GiB.
LARGEST_WEIGHTS = 1_800_000_000


def why_not_traceable(embedder: SentenceTransformerEmbedder) -> str | None:
    """Returns why the model cannot be traced, as a sentence without its full stop, or `None`."""
    folder = embedder.folder
    strange = [module for module in folder.modules if module not in TRACEABLE]
    if strange:
        return f"the model has a module {strange[0]}, and only {', '.join(sorted(TRACEABLE))} can be exported"
    if folder.modules[:1] != ("Transformer",):
        return "the model does not begin with a Transformer module"
    if embedder.identity.query_prompt and not folder.include_prompt:
        return "the model leaves its prompt out of pooling, which the exported encoder cannot do"
    size = sum(file.stat().st_size for file in folder.path.rglob("*.safetensors"))
    if size > LARGEST_WEIGHTS:
        return f"the weights have {size / 1e9:.1f} GB, more than one ONNX file can hold"
    return None


def trace_encoder(embedder: SentenceTransformerEmbedder, file: Path) -> None:
    """Writes the model of `embedder`, with its pooling and normalisation, to `file` in float32.

    It uses the older exporter, based on TorchScript: that needs neither `onnxscript` nor several seconds for
    torch.export, and gives the same bytes for the same model.

    Raises:
        Exception: whatever the exporter raises on a model that it cannot trace.
    """
    import torch

    class QueryEncoder(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, transformer: Any, rest: list[Any], dimension: int) -> None:
            super().__init__()
            self.transformer = transformer
            self.rest = torch.nn.ModuleList(rest)
            self.dimension = dimension

        def forward(self, input_ids: Any, attention_mask: Any) -> Any:
            tokens = self.transformer(input_ids=input_ids, attention_mask=attention_mask, return_dict=True)[0]
            features = {"token_embeddings": tokens, "attention_mask": attention_mask}
            for module in self.rest:
                features = module(features)
            vectors = features["sentence_embedding"][:, : self.dimension]
            return torch.nn.functional.normalize(vectors, p=2.0, dim=1)

    with quiet_libraries(), torch.no_grad():
        # The exporter cannot trace fused attention; the plain one computes the same.
        model = embedder.load_model(device="cpu", attention="eager").float().eval()
        encoder = QueryEncoder(model[0].auto_model, list(model)[1:], embedder.identity.dimension).eval()
        # Ids that every vocabulary has, none of them the padding.
        ids = torch.arange(12).reshape(2, 6) + 5
        mask = torch.ones_like(ids)
        mask[1, 4:] = 0
        torch.onnx.export(
            encoder,
            (ids, mask),
            str(file),
            dynamo=False,
            opset_version=OPSET,
            input_names=list(INPUTS),
            output_names=[OUTPUT],
            dynamic_axes={**{name: {0: "texts", 1: "tokens"} for name in INPUTS}, OUTPUT: {0: "texts"}},
        )
