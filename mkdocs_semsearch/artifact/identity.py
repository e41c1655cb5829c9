"""What makes two embedders interchangeable."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["EmbedderIdentity"]


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What makes two embedders give the same vectors; stands in the manifest and in every vector-cache key.

    Attributes:
        kind: `sentence-transformers`, `onnx` or `openai`.
        model: the name the user gave (hub id); for a folder its last component, never a path of this machine.
        fingerprint: hash of weights, tokenizer and pooling settings, or for a remote model its name and revision.
        dimension: length of a vector.
        max_tokens: tokens after which the encoder cuts a text off.
        query_prompt, document_prompt: what the model wants in front of a text; `""` for none.
        precision: of the weights that embedded the documents, `float32` or `int8`; the vectors of one can be compared
            with those of the other, but are not the same.
    """

    kind: str
    model: str
    fingerprint: str
    dimension: int
    max_tokens: int
    query_prompt: str = ""
    document_prompt: str = ""
    precision: str = "float32"
