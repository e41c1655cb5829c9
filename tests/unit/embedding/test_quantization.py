"""Weights in 8 bits: large columns stay exact, and products overflow on no processor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from mkdocs_semsearch.embedding import quantization
from mkdocs_semsearch.embedding.quantization import quantize_in_blocks, quantize_weights

onnx = pytest.importorskip("onnx")

TOKENS, LENGTH, INNER, OUTER = 50, 1100, 96, 64
LARGE = (7, 40)
"""Columns of the activations that are many times as large as the others."""
INPUTS = [{"ids": np.array([[1, 2, 3, 500]])}, {"ids": np.array([[900]])}]
ALL = {"ids": np.arange(LENGTH).reshape(-1, TOKENS)}


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """Rows of a table, multiplied with two weights: one with a bias, the other one used twice."""
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(5)
    table = generator.normal(size=(LENGTH, INNER)).astype(np.float32)
    sizes = np.ones(INNER, dtype=np.float32)
    sizes[list(LARGE)] = 100
    first, second = (generator.normal(size=(INNER, OUTER)).astype(np.float32) for _ in range(2))
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"], name="rows"),
        helper.make_node("Mul", ["rows", "sizes"], ["uneven"], name="uneven"),
        helper.make_node("MatMul", ["uneven", "first"], ["product"], name="product"),
        helper.make_node("Add", ["bias", "product"], ["one"], name="one"),
        helper.make_node("MatMul", ["uneven", "second"], ["sum"], name="sum"),
        helper.make_node("Add", ["sum", "number"], ["two"], name="two"),
        helper.make_node("Tanh", ["rows"], ["others"], name="others"),
        helper.make_node("MatMul", ["others", "second"], ["three"], name="three"),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
    outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in ("one", "two", "three")]
    bias, number = generator.normal(size=OUTER).astype(np.float32), np.array([9], dtype=np.float32)
    tensors = {"bias": bias, "number": number, "table": table, "sizes": sizes, "first": first, "second": second}
    constants = [numpy_helper.from_array(array, name) for name, array in tensors.items()]
    made = helper.make_graph(nodes, "test", [ids], outputs, constants)
    file = tmp_path_factory.mktemp("graph") / "float32.onnx"
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), str(file))
    return file


def outputs_of(file):
    onnxruntime = pytest.importorskip("onnxruntime")
    return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"]).run(None, ALL)


def errors_of(file, graph):
    """Returns the error of each output as a share of its standard deviation."""
    pairs = zip(outputs_of(file), outputs_of(graph), strict=True)
    return [float(np.sqrt(np.mean((given - right) ** 2)) / right.std()) for given, right in pairs]


def test_large_columns_cost_no_precision(graph, tmp_path, monkeypatch):
    quantize_weights(graph, tmp_path / "mixed.onnx", INPUTS)
    mixed = errors_of(tmp_path / "mixed.onnx", graph)
    assert chosen_columns(tmp_path / "mixed.onnx")[0] == LARGE
    monkeypatch.setattr(quantization, "COLUMNS_FOR_A_LARGE_ONE", INNER + 1)
    quantize_weights(graph, tmp_path / "plain.onnx", INPUTS)
    plain = errors_of(tmp_path / "plain.onnx", graph)
    assert mixed[0] < plain[0] / 5
    assert mixed[1] < plain[1] / 5
    assert max(mixed) < 0.03


def chosen_columns(file):
    from onnx import numpy_helper

    tensors = onnx.load(str(file)).graph.initializer
    return [tuple(numpy_helper.to_array(tensor)) for tensor in tensors if tensor.name.endswith("_columns")]


def test_products_of_one_input_share_its_8_bits(graph, tmp_path):
    quantize_weights(graph, tmp_path / "mixed.onnx", INPUTS)
    types = [node.op_type for node in onnx.load(str(tmp_path / "mixed.onnx")).graph.node]
    assert types.count("MatMulIntegerToFloat") == 3
    assert types.count("DynamicQuantizeLinear") == 2
    # A sum with the large columns for each product, and the one whose second operand is a number, not a bias.
    assert types.count("Add") == types.count("MatMul") + 1
    quantize_weights(graph, tmp_path / "again.onnx", INPUTS)
    assert (tmp_path / "again.onnx").read_bytes() == (tmp_path / "mixed.onnx").read_bytes()


def test_columns_are_chosen_over_all_texts(graph, tmp_path):
    """Row 1 is the only one whose column 3 is large, and only the first text has it."""
    model = onnx.load(str(graph))
    table = next(tensor for tensor in model.graph.initializer if tensor.name == "table")
    values = onnx.numpy_helper.to_array(table).copy()
    values[1, 3] = 5000
    table.CopyFrom(onnx.numpy_helper.from_array(values, "table"))
    onnx.save(model, str(tmp_path / "float32.onnx"))
    quantize_weights(tmp_path / "float32.onnx", tmp_path / "mixed.onnx", INPUTS)
    assert all(3 in columns for columns in chosen_columns(tmp_path / "mixed.onnx"))


@pytest.mark.parametrize(("largest", "expected"), [(1.9, []), (2.1, [5])])
def test_columns_of_similar_size_are_not_set_apart(largest, expected):
    sizes = np.ones(quantization.COLUMNS_FOR_A_LARGE_ONE, dtype=np.float32)
    sizes[5] = largest
    assert quantization._large_columns(sizes).tolist() == expected


def test_graph_keeps_what_is_used_elsewhere(tmp_path):
    """A product is an output, has a bias and is used in a condition; a look-up takes columns, not rows."""
    from onnx import TensorProto, helper, numpy_helper

    generator = np.random.default_rng(7)
    table = generator.normal(size=(LENGTH, INNER)).astype(np.float32)
    weight, bias = (generator.normal(size=size).astype(np.float32) for size in ((INNER, OUTER), OUTER))
    inner = [helper.make_graph([helper.make_node("Identity", [name], ["one"])], name, [], [_float("one")]) for name in
             ("product", "bias")]  # fmt: skip
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["rows"]),
        helper.make_node("Gather", ["table", "first"], ["column"], axis=1),
        helper.make_node("MatMul", ["rows", "weight"], ["product"]),
        helper.make_node("Add", ["product", "bias"], ["sum"]),
        helper.make_node("If", ["yes"], ["one"], then_branch=inner[0], else_branch=inner[1]),
    ]
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
    tensors = {"table": table, "weight": weight, "bias": bias, "first": np.array(0), "yes": np.array(True)}
    constants = [numpy_helper.from_array(array, name) for name, array in tensors.items()]
    made = helper.make_graph(nodes, "test", [ids], [_float(name) for name in ("sum", "one", "column")], constants)
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "a.onnx")
    quantize_weights(tmp_path / "a.onnx", tmp_path / "b.onnx", INPUTS)
    assert max(errors_of(tmp_path / "b.onnx", tmp_path / "a.onnx")) < 0.03
    quantize_in_blocks(tmp_path / "a.onnx", tmp_path / "c.onnx")
    assert max(errors_of(tmp_path / "c.onnx", tmp_path / "a.onnx")) < 0.03
    assert (tmp_path / "b.onnx").stat().st_size > table.nbytes  # the second look-up needs it in float32


def _float(name):
    return onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None)


def test_graph_without_a_large_product_keeps_its_numbers(tmp_path):
    from onnx import TensorProto, helper, numpy_helper

    table = np.random.default_rng(8).normal(size=(LENGTH, 8)).astype(np.float32)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["texts", "tokens"])
    node = helper.make_node("Gather", ["table", "ids"], ["rows"])
    made = helper.make_graph([node], "test", [ids], [_float("rows")], [numpy_helper.from_array(table, "table")])
    onnx.save(helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), tmp_path / "a.onnx")
    quantize_weights(tmp_path / "a.onnx", tmp_path / "b.onnx", INPUTS)
    assert max(errors_of(tmp_path / "b.onnx", tmp_path / "a.onnx")) < 0.01
    assert (tmp_path / "b.onnx").stat().st_size < table.nbytes / 2


def test_blocks_need_no_texts(graph, tmp_path):
    quantize_in_blocks(graph, tmp_path / "blocks.onnx")
    assert max(errors_of(tmp_path / "blocks.onnx", graph)) < 0.03
    assert [path.name for path in tmp_path.iterdir()] == ["blocks.onnx"]


@given(arrays(np.float32, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.floats(-9, 9, width=32)))
def test_sums_of_two_products_fit_into_16_bits(weight):
    rounded, scales = quantization._columns_in_8_bits(weight)
    for first in range(0, len(rounded) - 1, 2):
        pair = rounded[first : first + 2].astype(int)
        assert (255 * pair.clip(min=0).sum(axis=0)).max() <= 2**15 - 1
        assert (255 * pair.clip(max=0).sum(axis=0)).min() >= -(2**15)
    assert np.abs(rounded * scales - weight).max() <= scales.max() / 2 + 1e-6
