"""Turns the large weights of a traced model into 8 bits, in one of two ways.

`quantize_weights` is for nearly every model. It uses ONNX Runtime's fastest products, in which all activations of a
product share one scale. A few columns of the activations are many times as large as the others and would cost most of
the precision, so they stay in float32 (Dettmers et al.: LLM.int8(), 8-bit Matrix Multiplication for Transformers at
Scale, NeurIPS 2022). The largest ones are mostly the same for every text, so a few texts show which they are.

`quantize_in_blocks` gives every 128 numbers a scale of their own, in weights and activations. It is for models with
more large columns, and takes about twice as long for each text.

The cosine between a text's vector and that of the original all-MiniLM-L6-v2, over 250 pairs of paragraphs and 250
headings (mean, lowest):

                                     paragraphs      headings
    quantize_weights                 .9991, .9983    .9994, .9967
    the same without large columns   .9929, .985     .9917, .969
    quantize_in_blocks               .9992, .9987    .9986, .9961
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mkdocs_semsearch.embedding.onnx_encoder import import_onnxruntime

# Smaller matrices (biases, position tables) take little room and time, so they stay in float32.
SMALLEST_SIDE = 64
SMALLEST_TABLE = 1024
CONTRIB_DOMAIN = "com.microsoft"
# One column of 48 stays in float32 (for all-MiniLM-L6-v2 8 of 384, 32 of 1536), if the largest of them is more than
# twice as large as the largest of the rest. Half as many columns cost .0001 of cosine.
COLUMNS_FOR_A_LARGE_ONE = 48
LEAST_GAIN = 2
LARGEST_WEIGHT = 127
BLOCK = 128
INT8_PRODUCTS = 4

Nodes = tuple[list[Any], list[Any]]
"""Nodes of a graph and the tensors that they use."""


def quantize_weights(source: Path, target: Path, inputs: Sequence[Mapping[str, NDArray[np.int64]]]) -> None:
    """Writes to `target` the graph of `source` with its large weights in 8 bits; the same bytes for the same arguments.

    Args:
        source: a graph in float32.
        target: file to write.
        inputs: inputs of the graph for some texts, each with at least one token. They show which columns of the
            activations are large.
    """
    import onnx

    model = onnx.load(str(source))
    tensors = _tensors_of(model)
    products = [node for node in model.graph.node if _product_weight(node, tensors) is not None]
    largest = _largest_activations(model, source.parent, {node.input[0] for node in products}, inputs)
    sizes: dict[str, NDArray[np.float32]] = {}
    for node in products:  # some models use one weight in all layers
        activations, weight = node.input
        sizes[weight] = np.maximum(sizes.get(weight, 0), largest[activations])
    large = {weight: _large_columns(columns) for weight, columns in sizes.items()}
    _move_biases(model, products, tensors)
    quantized: dict[tuple[str, bytes], str] = {}
    _rewrite(model, target, lambda node, values: _mixed_product(node, values, large[node.input[1]], quantized))


def quantize_in_blocks(source: Path, target: Path) -> None:
    """Writes to `target` the graph of `source` with its large weights in blocks of 8 bits, for `MatMulNBits`.

    The inputs of a product are rounded in blocks as well (accuracy level 4: 8-bit products, 32-bit sums).
    """
    import onnx

    _rewrite(onnx.load(str(source)), target, _block_product)


def _rewrite(model: Any, target: Path, product: Callable[[Any, NDArray[np.float32]], Nodes]) -> None:
    """Writes `model` to `target`, its products with large weights replaced, and its large tables in 8 bits."""
    from onnx import helper

    graph, tensors = model.graph, _tensors_of(model)
    nodes: list[Any] = []
    added: dict[str, Any] = {}
    for node in graph.node:
        weight, table = _product_weight(node, tensors), _table(node, tensors)
        if weight is not None:
            replacement, new = product(node, weight)
        elif table is not None:
            replacement, new = _look_up(node, table)
        else:
            replacement, new = [node], []
        nodes.extend(replacement)
        added.update((tensor.name, tensor) for tensor in new)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(added.values())
    used = _uses(graph)
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)
    if not any(entry.domain == CONTRIB_DOMAIN for entry in model.opset_import):
        model.opset_import.append(helper.make_opsetid(CONTRIB_DOMAIN, 1))
    target.write_bytes(model.SerializeToString(deterministic=True))


def _tensors_of(model: Any) -> dict[str, Any]:
    return {tensor.name: tensor for tensor in model.graph.initializer}


def _uses(graph: Any) -> Counter[str]:
    """Counts how often each name is used: by nodes, as an output, and in the graphs of conditions and loops."""
    uses = Counter(name for node in graph.node for name in node.input)
    uses.update(output.name for output in graph.output)
    for node in graph.node:
        for attribute in node.attribute:
            for inner in [*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs]:
                uses.update(_uses(inner))
    return uses


def _product_weight(node: Any, tensors: Mapping[str, Any]) -> NDArray[np.float32] | None:
    """Returns the weight `[inner, outer]` of a matrix product, if it is large."""
    values = _matrix(tensors.get(node.input[1])) if node.op_type == "MatMul" else None
    return values if values is not None and min(values.shape) >= SMALLEST_SIDE else None


def _table(node: Any, tensors: Mapping[str, Any]) -> NDArray[np.float32] | None:
    """Returns the table `[rows, length]` of a look-up by row, if it is large."""
    if node.op_type != "Gather" or any(attribute.name == "axis" and attribute.i for attribute in node.attribute):
        return None
    values = _matrix(tensors.get(node.input[0]))
    return values if values is not None and len(values) >= SMALLEST_TABLE else None


def _matrix(tensor: Any) -> NDArray[np.float32] | None:
    from onnx import numpy_helper

    values = None if tensor is None else numpy_helper.to_array(tensor)
    return values if values is not None and values.dtype == np.float32 and values.ndim == 2 else None


def _largest_activations(
    model: Any, folder: Path, names: set[str], inputs: Sequence[Mapping[str, NDArray[np.int64]]]
) -> dict[str, NDArray[np.float32]]:
    """Returns the largest absolute value in each column of the activations `names`, over all `inputs`."""
    from onnx import TensorProto, helper

    wanted = sorted(names)
    if not wanted:  # ONNX Runtime would compute all outputs of the graph
        return {}
    onnxruntime = import_onnxruntime()
    with tempfile.TemporaryDirectory(dir=folder) as name:
        file = Path(name) / "activations.onnx"
        shown = len(model.graph.output)
        model.graph.output.extend(helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in wanted)
        file.write_bytes(model.SerializeToString())
        del model.graph.output[shown:]
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 3
        options.add_session_config_entry("session.disable_prepacking", "1")
        session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
        largest: dict[str, NDArray[np.float32]] = {}
        for given in inputs:
            for each, values in zip(wanted, session.run(wanted, dict(given)), strict=True):
                sizes = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
                largest[each] = np.maximum(largest.get(each, 0), sizes)
    return largest


def _large_columns(sizes: NDArray[np.float32]) -> NDArray[np.int64]:
    """Returns the numbers of the columns that stay in float32, ascending; none if the rest is nearly as large."""
    order = np.argsort(-sizes, kind="stable")
    count = len(sizes) // COLUMNS_FOR_A_LARGE_ONE
    worthwhile = sizes[order[0]] > LEAST_GAIN * sizes[order[count]]
    return np.sort(order[:count]) if worthwhile else order[:0]


def _move_biases(model: Any, products: Sequence[Any], tensors: Mapping[str, Any]) -> None:
    """Makes the bias that is added to a product its third input, and removes the addition.

    `MatMul` itself has no third input: these nodes must be replaced.
    """
    uses = _uses(model.graph)
    shapes = {name: list(tensor.dims) for name, tensor in tensors.items()}
    product_of = {node.output[0]: node for node in products if uses[node.output[0]] == 1}
    for addition in [node for node in model.graph.node if node.op_type == "Add"]:
        for given, bias in permutations(addition.input):
            product = product_of.get(given)
            if product is not None and shapes.get(bias) == shapes[product.input[1]][1:]:
                product.input.append(bias)
                product.output[0] = addition.output[0]
                model.graph.node.remove(addition)
                break


def _mixed_product(
    node: Any, values: NDArray[np.float32], large: NDArray[np.int64], quantized: dict[tuple[str, bytes], str]
) -> Nodes:
    """Returns the nodes of a product: the `large` columns of its input in float32, the others in 8 bits.

    Products with the same input and the same columns share the input's 8 bits: `quantized` has its name.
    """
    from onnx import helper, numpy_helper

    (given, weight, *bias), (output,) = node.input, node.output
    key = given, large.tobytes()
    nodes: list[Any] = []
    tensors: dict[str, NDArray[Any]] = {}
    if key not in quantized:
        quantized[key] = f"{given}_{len(quantized)}"
        nodes, tensors = _input_in_8_bits(given, quantized[key], large, len(values))
    name = quantized[key]
    small = values.copy()
    small[large] = 0
    rounded, scales = _columns_in_8_bits(small)
    tensors |= {f"{weight}_int8": rounded, f"{weight}_scales": scales}
    operands = [f"{name}_int8", f"{weight}_int8", f"{name}_scale", f"{weight}_scales", f"{name}_zero", "", *bias]
    outputs = [f"{output}_rest"] if large.size else [output]
    nodes.append(helper.make_node("MatMulIntegerToFloat", operands, outputs, f"{output}_int8", domain=CONTRIB_DOMAIN))
    if large.size:
        tensors[f"{weight}_large"] = values[large]
        exact = f"{output}_large"
        nodes += [
            helper.make_node("MatMul", [f"{name}_large", f"{weight}_large"], [exact], exact),
            helper.make_node("Add", [*outputs, exact], [output], f"{output}_sum"),
        ]
    return nodes, [numpy_helper.from_array(array, name) for name, array in tensors.items()]


def _input_in_8_bits(
    given: str, name: str, large: NDArray[np.int64], length: int
) -> tuple[list[Any], dict[str, NDArray[Any]]]:
    """Returns the nodes that split an input of `length` columns into large ones and 8 bits, and their arrays."""
    from onnx import helper

    parts = [f"{name}_int8", f"{name}_scale", f"{name}_zero"]
    if not large.size:
        return [helper.make_node("DynamicQuantizeLinear", [given], parts, f"{name}_int8")], {}
    kept = np.ones(length, dtype=np.float32)
    kept[large] = 0
    return [
        helper.make_node("Gather", [given, f"{name}_columns"], [f"{name}_large"], f"{name}_large", axis=-1),
        helper.make_node("Mul", [given, f"{name}_kept"], [f"{name}_rest"], f"{name}_rest"),
        helper.make_node("DynamicQuantizeLinear", [f"{name}_rest"], parts, f"{name}_int8"),
    ], {f"{name}_kept": kept, f"{name}_columns": large}


def _columns_in_8_bits(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Returns the weight `[inner, outer]` in 8 bits and the scale of each column.

    x86 processors without VNNI add two neighbouring products in 16 bits. With an activation of up to 255 they overflow
    unless two neighbouring weights of the same sign add up to at most 128, so the scale is chosen for that. Without
    it, the same text gets another vector on such a processor (cosine .994 in place of 1).
    """
    padded = np.concatenate([weight, np.zeros((len(weight) % 2, weight.shape[1]), np.float32)])
    pairs = padded.reshape(-1, 2, weight.shape[1])
    sums = np.maximum(pairs.clip(min=0).sum(axis=1), -pairs.clip(max=0).sum(axis=1))
    scales = _scales(sums.max(axis=0))
    return np.rint(weight / scales).astype(np.int8), scales


def _block_product(node: Any, values: NDArray[np.float32]) -> Nodes:
    from onnx import helper, numpy_helper

    name = node.input[1]
    inner, outer = values.shape
    packed, scales = _blocks(np.ascontiguousarray(values.T))
    inputs = [node.input[0], f"{name}_int8", f"{name}_scales"]
    sizes = {"K": inner, "N": outer, "bits": 8, "block_size": BLOCK, "accuracy_level": INT8_PRODUCTS}
    product = helper.make_node("MatMulNBits", inputs, list(node.output), name=node.name, domain=CONTRIB_DOMAIN, **sizes)
    return [product], [
        numpy_helper.from_array(packed, f"{name}_int8"),
        numpy_helper.from_array(scales.reshape(-1), f"{name}_scales"),
    ]


def _blocks(rows: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Returns `[n, blocks, 128]` bytes with 128 for zero, as `MatMulNBits` reads them, and `[n, blocks]` scales."""
    count, length = rows.shape
    blocks = -(-length // BLOCK)
    padded = np.zeros((count, blocks * BLOCK), dtype=np.float32)
    padded[:, :length] = rows
    cut = padded.reshape(count, blocks, BLOCK)
    scales = _scales(np.abs(cut).max(axis=2))
    packed = np.rint(cut / scales[:, :, None]) + 128.0
    return packed.astype(np.uint8), scales


def _scales(largest: NDArray[np.float32]) -> NDArray[np.float32]:
    """Returns the scale of each row or column, from its largest absolute value; 1 if that is zero or denormal."""
    scales = largest / np.float32(LARGEST_WEIGHT)
    scales[scales < np.finfo(np.float32).tiny] = 1
    return scales


def _look_up(node: Any, values: NDArray[np.float32]) -> Nodes:
    """Returns the nodes of a look-up in 8 bits: rows and their scales are gathered, then multiplied."""
    from onnx import TensorProto, helper, numpy_helper

    (table, wanted), (output,) = node.input, node.output
    scales = _scales(np.abs(values).max(axis=1, keepdims=True))
    rows = np.rint(values / scales).astype(np.int8)
    names = {part: f"{output}_{part}" for part in ("int8", "float", "scales")}
    steps = [
        helper.make_node("Gather", [f"{table}_rows", wanted], [names["int8"]], name=f"{node.name}_rows", axis=0),
        helper.make_node("Cast", [names["int8"]], [names["float"]], name=f"{node.name}_cast", to=TensorProto.FLOAT),
        helper.make_node(
            "Gather", [f"{table}_row_scales", wanted], [names["scales"]], name=f"{node.name}_scales", axis=0
        ),
        helper.make_node("Mul", [names["float"], names["scales"]], [output], name=node.name),
    ]
    return steps, [
        numpy_helper.from_array(rows, f"{table}_rows"),
        numpy_helper.from_array(scales, f"{table}_row_scales"),
    ]
