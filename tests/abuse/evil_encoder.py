"""Query encoders that work for short texts and use too much time or memory for long ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers

from mkdocs_semsearch.embedding.onnx_encoder import encoder_settings
from tests.word_hash import DIMENSION, WordHashEmbedder


def write_encoder(folder: Path, *, bytes_per_token: int = 0, turns_per_token: int = 0) -> None:
    """Writes an encoder whose vector is always the same.

    Args:
        folder: folder to create.
        bytes_per_token: memory that it uses for each token of a text.
        turns_per_token: number of loop iterations for each token of a text.
    """
    folder.mkdir(parents=True)
    vector = np.zeros((1, DIMENSION), np.float32)
    vector[0, 0] = 1
    constants = {
        "vector": vector,
        "floats": np.array([max(1, bytes_per_token // 4)], np.int64),
        "turns": np.array(max(1, turns_per_token), np.int64),
        "zero": np.array(0, np.float32),
        "always": np.array(True),
        "start": np.array(0, np.float32),
    }
    turn = helper.make_graph(
        [
            helper.make_node("Identity", ["going"], ["goes_on"]),
            helper.make_node("Cos", ["before"], ["after"]),
        ],
        "turn",
        [
            helper.make_tensor_value_info("number", TensorProto.INT64, []),
            helper.make_tensor_value_info("going", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.FLOAT, []),
        ],
        [
            helper.make_tensor_value_info("goes_on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("after", TensorProto.FLOAT, []),
        ],
    )
    graph = helper.make_graph(
        [
            helper.make_node("Size", ["input_ids"], ["tokens"]),
            helper.make_node("Mul", ["floats", "tokens"], ["size"]),
            helper.make_node("ConstantOfShape", ["size"], ["waste"]),
            helper.make_node("ReduceMax", ["waste"], ["nothing"], keepdims=0),
            helper.make_node("Mul", ["turns", "tokens"], ["rounds"]),
            helper.make_node("Loop", ["rounds", "always", "start"], ["turned"], body=turn),
            helper.make_node("Mul", ["turned", "zero"], ["none"]),
            helper.make_node("Add", ["nothing", "none"], ["offset"]),
            helper.make_node("Add", ["vector", "offset"], ["sentence_embedding"]),
        ],
        "encoder",
        [
            helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"]),
            helper.make_tensor_value_info("attention_mask", TensorProto.INT64, [1, "tokens"]),
        ],
        [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, [1, DIMENSION])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    onnx.save(model, str(folder / "encoder.onnx"))
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    settings = encoder_settings(WordHashEmbedder().identity, quantized=False, lower_case=True)
    (folder / "encoder.json").write_text(settings, encoding="utf-8")
