"""Block files, varints and codes of vectors are read back as written."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_semsearch.errors import IndexCorruptError
from mkdocs_semsearch.static.format import (
    differences,
    pack_blocks,
    pack_varints,
    smallest_unsigned,
    unpack_blocks,
    unpack_varints,
)
from mkdocs_semsearch.static.meaning import pack_codes, unpack_codes


def test_blocks_are_read_back():
    blocks = {
        "a": np.array([1, 2, 300], np.uint16),
        "words": ["ab", "", "ü"],
        "f": np.array([0.5], np.float64),
        "j": {"json": [{"x": None}]},
        "none": np.zeros(0, np.uint32),
    }
    packed = pack_blocks(blocks)
    read = unpack_blocks(packed, "here")
    assert read.array("a").tolist() == [1, 2, 300]
    assert read.texts("words") == ["ab", "", "ü"]
    assert read.array("f").tolist() == [0.5]
    assert read.json("j") == [{"x": None}]
    assert read.array("none").tolist() == [] == read.texts("none")
    assert packed == pack_blocks(blocks)


def test_data_is_aligned_for_typed_arrays():
    plain = gzip.decompress(pack_blocks({"a": np.zeros(3, np.uint8), "b": np.ones(2, np.float64)}))
    assert (4 + int.from_bytes(plain[:4], "little")) % 8 == 0
    assert b'"b":["f64",8,16]' in plain


def test_files_that_a_host_has_unpacked_are_read_as_well():
    plain = gzip.decompress(pack_blocks({"a": np.array([7], np.uint8)}))
    assert unpack_blocks(plain, "here").array("a").tolist() == [7]


@pytest.mark.parametrize("content", [b"", b"\x1f\x8b", b"<html>404</html>", gzip.compress(b"\x02\0\0\0[]", mtime=0)])
def test_a_file_that_is_not_a_block_file_is_refused_by_name(content):
    with pytest.raises(IndexCorruptError, match=r"terms/3\.bin.*build the site again"):
        unpack_blocks(content, "terms/3.bin")


def test_block_beyond_the_file_is_refused():
    plain = gzip.decompress(pack_blocks({"a": np.zeros(64, np.uint8)}))
    with pytest.raises(IndexCorruptError, match="'a'"):
        unpack_blocks(plain[:-8], "core.bin").array("a")


@given(st.lists(st.integers(0, 2**35 - 1)))
def test_varints_are_read_back(values):
    assert unpack_varints(pack_varints(values)[0]).tolist() == values


def test_small_numbers_take_a_byte():
    packed, begins = pack_varints([0, 127, 128])
    assert packed.tolist() == [0, 127, 128, 1]
    assert begins.tolist() == [0, 1, 2, 4]
    values, sizes = np.array([3, 5, 1, 1]), np.array([2, 0, 2])
    assert differences(values, sizes).tolist() == [3, 2, 1, 0]


@pytest.mark.parametrize(("dimensions", "bits"), [(8, 4), (3, 8), (5, 4), (7, 2), (9, 1)])
def test_codes_are_read_back_as_levels(dimensions, bits):
    codes = np.random.default_rng(1).integers(0, 2**bits, (5, dimensions)).astype(np.uint8)
    packed = pack_codes(codes, bits)
    assert packed.shape == (5, -(-dimensions * bits // 8))
    levels = unpack_codes(packed.reshape(-1), dimensions, bits)
    assert (levels == 2 * codes.astype(int) - (2**bits - 1)).all()


@pytest.mark.parametrize(("largest", "dtype"), [(0, "u1"), (255, "u1"), (256, "u2"), (2**16, "u4")])
def test_numbers_are_stored_in_the_smallest_type(largest, dtype):
    assert smallest_unsigned([0, largest]).dtype == np.dtype(dtype)
