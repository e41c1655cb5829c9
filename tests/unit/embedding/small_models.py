"""Small models with random weights and the architectures of real ones."""

from __future__ import annotations

import string
from collections.abc import Sequence
from pathlib import Path
from typing import Any

WORDS = ["how", "do", "i", "rotate", "an", "api", "key", "the", "server", "query", "hello", "there", ":", "?", ".", ","]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
SHAPE = {
    "hidden_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 256,
    "max_position_embeddings": 66,
}


def write_model(
    folder: Path,
    architecture: str,
    *,
    pooling: str = "mean",
    include_prompt: bool = True,
    dense: int = 0,
    texts: Sequence[str] = (),
    **settings: Any,
) -> Path:
    """Writes a sentence-transformers model with random weights, the same for the same arguments.

    Args:
        folder: folder to create, which is returned.
        architecture: such as `Bert`, the name before `Config` in transformers.
        pooling: pooling mode.
        include_prompt: whether pooling includes the prompt.
        dense: length of the vectors of a Dense module; 0 for none.
        texts: whose words and letters are the vocabulary, as in multilingual models; by default a few English words.
        settings: arguments for `SentenceTransformer`.
    """
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.base.modules import Dense, Normalize, Transformer
    from sentence_transformers.sentence_transformer.modules import Pooling

    tokenizer = _sentence_pieces(texts) if texts else _tokenizer()
    torch.manual_seed(0)
    ids = {"pad_token_id": 0, "bos_token_id": 2, "cls_token_id": 2, "eos_token_id": 3, "sep_token_id": 3}
    shape = SHAPE | ({"num_key_value_heads": 2} if architecture.startswith("Qwen") else {})
    config = getattr(transformers, f"{architecture}Config")(vocab_size=len(tokenizer), **shape, **ids)
    base = folder.with_name(folder.name + "-transformer")
    transformers.AutoModel.from_config(config).save_pretrained(base)
    tokenizer.save_pretrained(base)
    modules = [Transformer(str(base)), Pooling(128, pooling_mode=pooling, include_prompt=include_prompt)]
    if dense:
        modules.append(Dense(128, dense))
    SentenceTransformer(modules=[*modules, Normalize()], device="cpu", **settings).save(str(folder))
    return folder


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = [*string.ascii_lowercase, *string.digits]
    vocabulary = dict.fromkeys([*SPECIAL, *WORDS, *letters, *(f"##{letter}" for letter in letters)])
    numbers = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in zip(names, SPECIAL, strict=True)}
    )


def _sentence_pieces(texts: Sequence[str]) -> Any:
    """Returns a tokenizer of the kind that XLM-RoBERTa has: a unigram model over any script."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "<unk>", "<s>", "</s>", "<mask>"]
    words = sorted({f"\u2581{word}" for text in texts for word in text.split() if len(word) < 20})
    letters = sorted({"\u2581", *(letter for text in texts for letter in text if not letter.isspace())})
    pieces = [*((name, 0.0) for name in special), *((word, -8.0) for word in words), *((one, -12.0) for one in letters)]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=1))
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    names = ("pad", "unk", "cls", "sep", "mask")
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **{f"{name}_token": token for name, token in zip(names, special, strict=True)}
    )
