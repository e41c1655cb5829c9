"""Whatever happens while a build is written, the previous one stays readable."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mkdocs_semsearch.artifact import EmbedderIdentity, Manifest, atomic_files, current_build, open_index, publish_build
from mkdocs_semsearch.artifact.atomic_files import part_of, remove_old_parts, rename, replace_file
from mkdocs_semsearch.errors import IndexNotFoundError, IndexWriteError

OLD, NEW, THIRD = "0" * 15 + "1", "0" * 15 + "2", "0" * 15 + "3"


def writer(build_id, text=""):
    def write(folder: Path) -> Manifest:
        (folder / "lexical").mkdir()
        (folder / "lexical" / "meta").write_text(f"meta {build_id}")
        (folder / "data").write_text(text or build_id)
        identity = EmbedderIdentity("none", "none", "none", 1, 1)
        return Manifest(build_id, "test", "2026", identity, (), pages=0, sections=0, chunks=0, files=())

    return write


def publish(index_dir, build_id, text=""):
    return publish_build(index_dir, build_id, writer(build_id, text))


def visible(index_dir):
    return sorted(entry.name for entry in index_dir.iterdir() if not entry.name.startswith("."))


def hidden(index_dir):
    return sorted(entry.name for entry in index_dir.iterdir() if entry.name.startswith(".") and entry.name != ".lock")


@pytest.fixture
def index_dir(tmp_path):
    publish(tmp_path / "deep" / "index", OLD)
    return tmp_path / "deep" / "index"


def test_the_manifest_lists_every_file_with_size_and_hash(index_dir):
    index = open_index(index_dir, verify=True)
    assert index.build_dir == index_dir / OLD
    assert [(file.path, file.size) for file in index.manifest.files] == [("data", 16), ("lexical/meta", 21)]
    assert visible(index_dir) == [OLD, "manifest.json"]
    assert hidden(index_dir) == []


def test_a_lock_file_that_tantivy_creates_late_is_not_part_of_the_build(tmp_path):
    def write(folder):
        manifest = writer(OLD, "")(folder)
        (folder / "lexical" / ".tantivy-meta.lock").touch()
        return manifest

    assert [file.path for file in publish_build(tmp_path, OLD, write).files] == ["data", "lexical/meta"]


def test_the_previous_build_is_kept(index_dir):
    publish(index_dir, NEW)
    assert visible(index_dir) == [OLD, NEW, "manifest.json"]
    publish(index_dir, THIRD)
    assert visible(index_dir) == [NEW, THIRD, "manifest.json"]
    publish(index_dir, NEW)  # back again
    assert visible(index_dir) == [NEW, THIRD, "manifest.json"]
    assert open_index(index_dir, verify=True).manifest.build_id == NEW


@pytest.mark.parametrize("error", [RuntimeError("x"), KeyboardInterrupt(), SystemExit(3), ValueError("x")])
def test_an_exception_while_writing_leaves_the_previous_build(index_dir, error):
    def write(folder):
        (folder / "half").write_text("half")
        raise error

    with pytest.raises(type(error)):
        publish_build(index_dir, NEW, write)
    assert visible(index_dir) == [OLD, "manifest.json"]
    assert hidden(index_dir) == []
    assert open_index(index_dir, verify=True).manifest.build_id == OLD
    publish(index_dir, NEW)


@pytest.mark.parametrize("moment", ["write", "fsync", "rename", "manifest"])
def test_a_full_disk_is_a_sentence_and_leaves_the_previous_build(index_dir, monkeypatch, moment):
    def full(*arguments, **named):
        raise OSError(errno.ENOSPC, "No space left on device")

    write = writer(NEW)
    with monkeypatch.context() as patch:
        if moment == "write":
            write = full
        elif moment == "fsync":
            patch.setattr(os, "fsync", full)
        else:
            replace, refused = Path.replace, NEW if moment == "rename" else "manifest.json"
            patch.setattr(Path, "replace", lambda path, to: full() if to.name == refused else replace(path, to))
        with pytest.raises(IndexWriteError, match=r"No space left on device.*previous one is untouched.*build again"):
            publish_build(index_dir, NEW, write)
    assert open_index(index_dir, verify=True).manifest.build_id == OLD
    publish(index_dir, NEW)
    assert open_index(index_dir, verify=True).manifest.build_id == NEW
    assert hidden(index_dir) == []


def test_leftovers_of_a_killed_build_are_removed(index_dir):
    (index_dir / ".staging-12345").mkdir()
    (index_dir / ".staging-12345" / "half").write_text("half")
    (index_dir / ".trial-abcd1234").mkdir()
    (index_dir / ".trial-abcd1234" / "manifest.json").write_text("{}")
    (index_dir / ".manifest.json.12345").write_text("{")
    (index_dir / NEW).mkdir()  # renamed, but killed before its manifest was in place
    (index_dir / NEW / "stale").write_text("stale")
    publish(index_dir, NEW)
    assert hidden(index_dir) == []
    assert not (index_dir / NEW / "stale").exists()
    assert open_index(index_dir, verify=True).manifest.build_id == NEW


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove", "manifest"])
def test_a_damaged_build_is_replaced(index_dir, damage):
    data = index_dir / OLD / "data"
    if damage == "truncate":
        data.write_text("")
    elif damage == "flip":
        data.write_bytes(bytes([data.read_bytes()[0] ^ 1]) + data.read_bytes()[1:])
    elif damage == "remove":
        data.unlink()
    else:
        (index_dir / "manifest.json").write_text("{")
    assert current_build(index_dir) is None
    publish(index_dir, OLD)
    assert open_index(index_dir, verify=True).manifest.build_id == OLD
    assert visible(index_dir) == [OLD, "manifest.json"]


def test_an_existing_build_is_not_removed_and_written_again(index_dir):
    inode = (index_dir / OLD / "data").stat().st_ino
    manifest = publish(index_dir, OLD)
    assert manifest.build_id == OLD
    assert (index_dir / OLD / "data").stat().st_ino == inode


@pytest.mark.parametrize(
    "files",
    [
        {"thesis.md": "years of work"},
        {"manifest.json": '{"name": "My web app", "start_url": "/"}', "index.html": "<h1>"},
        {"manifest.json": "[]", "0123456789abcdeX/a": "a"},
        {"sixteencharacter/work": "years of work"},
    ],
)
def test_a_folder_with_other_files_is_refused_and_unchanged(tmp_path, files):
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(IndexWriteError, match=r"not a search index: nothing was written; name another folder"):
        publish(tmp_path, NEW)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


def test_only_folders_that_are_named_like_a_build_are_ever_removed(index_dir):
    (index_dir / "sixteencharacter").mkdir()
    (index_dir / "0123456789abcdeX").mkdir()
    publish(index_dir, NEW)
    publish(index_dir, THIRD)
    assert visible(index_dir) == [NEW, THIRD, "0123456789abcdeX", "manifest.json", "sixteencharacter"]


def test_an_index_of_another_format_is_an_index(index_dir):
    (index_dir / ".lock").unlink(missing_ok=True)
    body = json.loads((index_dir / "manifest.json").read_text()) | {"format": 99}
    (index_dir / "manifest.json").write_text(json.dumps(body))
    publish(index_dir, NEW)
    assert open_index(index_dir, verify=True).manifest.build_id == NEW


def test_a_file_in_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "index").write_text("x")
    with pytest.raises(IndexWriteError, match="is a file: name a folder"):
        publish(tmp_path / "index", NEW)
    with pytest.raises(IndexWriteError, match="could not be written"):
        publish(tmp_path / "index" / "below", NEW)


def _publish_many(index_dir, numbers):
    for number in numbers:
        publish(Path(index_dir), f"{number:016x}", text=f"text of {number}" * 1000)


def test_several_publishers_at_once(tmp_path):
    spawn = multiprocessing.get_context("fork")
    workers = [
        spawn.Process(target=_publish_many, args=(str(tmp_path / "index"), range(start, start + 20)))
        for start in (0, 10, 0)
    ]
    for worker in workers:
        worker.start()
    read = 0
    while any(worker.is_alive() for worker in workers):
        try:
            open_index(tmp_path / "index")
            read += 1
        except IndexNotFoundError:
            assert not read
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert open_index(tmp_path / "index", verify=True)
    assert hidden(tmp_path / "index") == []
    assert len(visible(tmp_path / "index")) <= 3


def test_a_folder_without_the_right_to_write(public_path):
    """A process of another user: root may write everywhere."""
    index_dir = public_path / "index"
    publish(index_dir, OLD)
    script = textwrap.dedent(f"""
        import os, sys
        from pathlib import Path
        from mkdocs_semsearch.artifact import open_index, publish_build
        from mkdocs_semsearch.errors import IndexWriteError
        os.setgid(65534); os.setuid(65534)
        try:
            publish_build(Path({str(index_dir)!r}), {NEW!r}, lambda folder: None)
        except IndexWriteError as error:
            print(error)
        print(open_index(Path({str(index_dir)!r}), verify=True).manifest.build_id)
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said, build_id = done.stdout.splitlines()
    assert "Permission denied" in said
    assert "the previous one is untouched" in said
    assert build_id == OLD


def test_two_writers_of_one_file_do_not_disturb_each_other(tmp_path):
    texts = ["a" * 100_000, "b" * 100_000]
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda number: replace_file(tmp_path / "file", texts[number % 2]), range(200)))
    assert (tmp_path / "file").read_text() in texts
    assert visible(tmp_path) == ["file"]
    assert hidden(tmp_path) == []


def test_a_link_stays_and_its_file_is_replaced(tmp_path):
    (tmp_path / "file").write_text("before")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    replace_file(tmp_path / "link", b"after")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_text() == "after"


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with ThreadPoolExecutor(1) as pool:
        read = pool.submit((tmp_path / "pipe").read_bytes)
        replace_file(tmp_path / "pipe", "text")
        assert read.result() == b"text"
    assert (tmp_path / "pipe").is_fifo()


def test_a_replaced_file_keeps_its_line_ends_and_permissions(tmp_path):
    file = tmp_path / "file"
    replace_file(file, "first")
    file.chmod(0o640)
    replace_file(file, "a\r\nb\n")
    assert file.read_bytes() == b"a\r\nb\n"
    assert file.stat().st_mode & 0o777 == 0o640


def test_parts_of_killed_writers_are_removed_and_those_of_running_ones_are_kept(tmp_path):
    old, new, other = (tmp_path / f".{name}.part" for name in ("file.1-a", "file.2-b", "other.1-a"))
    old.mkdir()
    (old / "half").write_text("half")
    for path in (new, other):
        path.write_text("half")
    for path in (old, other):
        os.utime(path, (1, 1))
    remove_old_parts(tmp_path, "file")
    assert hidden(tmp_path) == [new.name, other.name]
    remove_old_parts(tmp_path)
    assert hidden(tmp_path) == [new.name]
    remove_old_parts(tmp_path / "nowhere")


def test_hidden_files_of_others_are_no_parts(tmp_path):
    for name in (".notes.part", ".2024.part", ".a.1-z.part"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (1, 1))
    remove_old_parts(tmp_path)
    assert len(hidden(tmp_path)) == 3


@pytest.mark.parametrize("name", ["x" * 255, "長" * 77 + ".html"])
def test_a_file_may_have_the_longest_name(tmp_path, name):
    old = part_of(tmp_path / name)
    old.touch()
    os.utime(old, (1, 1))
    remove_old_parts(tmp_path, name)
    replace_file(tmp_path / name, "text")
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(("refusals", "seconds"), [(2, 2.0), (1, 0.0)], ids=["Windows", "others"])
def test_only_windows_tries_a_refused_renaming_again(index_dir, monkeypatch, refusals, seconds):
    real, refused = Path.replace, []

    def replace(path, target):
        if len(refused) < refusals:
            refused.append(path)
            raise PermissionError(errno.EACCES, "Access is denied")
        return real(path, target)

    monkeypatch.setattr(atomic_files, "_SECONDS_TO_RENAME", seconds)
    monkeypatch.setattr(Path, "replace", replace)
    if seconds:
        publish(index_dir, NEW)
        assert open_index(index_dir, verify=True).manifest.build_id == NEW
    else:
        with pytest.raises(IndexWriteError, match="Access is denied"):
            publish(index_dir, NEW)


def test_a_folder_in_place_is_not_waited_for(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic_files, "_SECONDS_TO_RENAME", 60.0)

    def refuse(path, target):
        raise PermissionError(errno.EACCES, "Access is denied")  # as Windows does

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(PermissionError):
        rename(tmp_path / "new", tmp_path)


def test_a_file_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(UnicodeEncodeError):
        replace_file(tmp_path / "file", "\ud800")
    assert list(tmp_path.iterdir()) == []
