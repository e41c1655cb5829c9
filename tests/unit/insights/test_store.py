from __future__ import annotations

import errno
import logging
import os
import random
import resource
import signal
import sqlite3
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath, PureWindowsPath

import pyarrow.parquet as pq
import pytest

from mkdocs_semsearch.errors import ConfigurationError, SemsearchError
from mkdocs_semsearch.insights import recorder as recorder_module
from mkdocs_semsearch.insights import store as module
from mkdocs_semsearch.insights.recorder import Recorder
from mkdocs_semsearch.insights.store import FILE, InsightStore, _address
from tests.unit.insights.made_searches import search
from tests.waiting import eventually


@pytest.fixture
def store(tmp_path):
    return InsightStore(tmp_path / "insights")


def everything_in(folder):
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_written_records_are_read_back(store):
    made = [
        search("schlüssel drehen", filters={"tags": ["sicherheit"]}, corrected={"shlüssel": "schlüssel"}),
        search("b", opened="guide/auth.md", rank=2, rephrased=True, score=None, similarity=None),
    ]
    store.write(made, {"dropped": 3})
    store.write([], {"dropped": 2})
    assert sorted(store.read(), key=lambda item: -len(item.query)) == made
    assert store.counters() == {"dropped": 5}


def test_records_may_be_on_a_share_of_windows(store):
    on_share = PureWindowsPath(f"/{store.folder / FILE}")
    assert on_share.drive.startswith("\\\\")
    with closing(sqlite3.connect(f"{_address(on_share)}?mode=rw", uri=True)) as database:
        assert database.execute("SELECT count(*) FROM searches").fetchone() == (0,)
    assert _address(PureWindowsPath("C:/a b/c")) == "file:///C:/a%20b/c"
    assert _address(PurePosixPath("/a/c")) == "file:///a/c"


def test_only_the_owner_may_read_the_records(store):
    assert store.folder.stat().st_mode & 0o077 == 0
    assert (store.folder / FILE).stat().st_mode & 0o077 == 0


def test_records_from_a_day_on(store):
    store.write([search(hour=f"2026-11-{day}T10") for day in (20, 21, 22)])
    assert [item.hour for item in store.read("2026-11-21")] == ["2026-11-21T10", "2026-11-22T10"]


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigurationError, match="file"):
        InsightStore(tmp_path / "file" / "insights")
    (tmp_path / FILE).write_text("something else, and longer than the header of a database " * 30)
    with pytest.raises(ConfigurationError, match="not a database"):
        InsightStore(tmp_path)
    with pytest.raises(SemsearchError, match="no recorded searches"):
        InsightStore.existing(tmp_path / "nowhere")


def test_damaged_records_are_a_sentence(store):
    store.write([search("rotate keys " * 20) for _ in range(100)])
    file = store.folder / FILE
    whole = bytearray(file.read_bytes())
    whole[8192:] = bytes(len(whole) - 8192)
    file.write_bytes(whole)
    damaged = InsightStore.existing(store.folder)
    sentence = r"searches\.sqlite3.*malformed; move the file away, and `semsearch serve` begins a new one\.$"
    for use in (damaged.read, lambda: damaged.export(store.folder / "out.parquet"), lambda: damaged.forget("keys")):
        with pytest.raises(SemsearchError, match=sentence):
            use()
    file.write_text("no database at all, and long enough to be one")
    with pytest.raises(SemsearchError, match=r"cannot be opened: file is not a database; move the file away"):
        InsightStore.existing(store.folder)


def test_records_whose_json_is_of_another_kind_are_a_sentence(store):
    store.write([search("rotate keys")])
    with closing(sqlite3.connect(store.folder / FILE)) as database, database:
        database.execute("UPDATE searches SET filters = '[1]'")
    with pytest.raises(SemsearchError, match=r"cannot be read: one of filters, corrected is not an object"):
        store.read()


@pytest.mark.skipif(not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become somebody else")
def test_records_of_another_user_are_a_sentence(store):
    store.write([search("rotate keys")])
    os.seteuid(65534)
    try:
        with pytest.raises(SemsearchError, match=r"see that this user may write there and that the disk has room\.$"):
            InsightStore.existing(store.folder)
    finally:
        os.seteuid(0)


def test_forgotten_records_leave_no_trace_on_the_disk(store):
    store.write([search("My Neighbour Totoro"), search("rotate keys"), search("x", corrected={"totoro": "toto"})])
    assert b"Totoro" in everything_in(store.folder)
    assert store.forget("TOTORO") == 2
    assert [item.query for item in store.read()] == ["rotate keys"]
    assert b"otoro" not in everything_in(store.folder)


def test_filters_and_opened_pages_are_forgotten_too(store):
    store.write([search(opened="people/jane-doe.md"), search(filters={"who": ['Jane "JD" Doe']}), search("none")])
    assert store.forget("None") == 1
    assert store.forget("Jane-Doe") == 1
    assert store.forget('"jd" doe') == 1
    assert store.read() == []


def test_forgotten_records_leave_no_copies_where_pages_were_split(store, monkeypatch):
    numbers = random.Random(5)  # with these ids and lengths, pages are split and copies remain
    monkeypatch.setattr(module.secrets, "randbits", numbers.getrandbits)
    for _ in range(40):
        store.write([search(numbers.choice(["totoro ", "rotate "]) * numbers.randint(1, 90)) for _ in range(10)])
    forgotten = store.forget("totoro")
    assert 100 < forgotten < 400
    assert len(store.read()) == 400 - forgotten
    assert b"totoro" not in everything_in(store.folder)


def test_a_text_is_forgotten_however_its_characters_and_spaces_are_written(store):
    store.write([search("Jo\u0308rg"), search("j\u00f6rg", filters={"who": ["x"]}), search("project titan")])
    assert store.forget("J\u00d6RG") == 2
    assert store.forget(" project  titan\n") == 1


@pytest.mark.parametrize("sign", ["{}", "{", ":", ",", '": "', "["])
def test_signs_of_json_forget_nothing(store, sign):
    store.write([search(filters={"who": ["a", "b"]}, corrected={"tokne": "token"}), search()])
    assert store.forget(sign) == 0


@pytest.mark.parametrize("blank", ["", " ", "\t\n"])
def test_a_blank_text_forgets_nothing(store, blank):
    store.write([search("rotate keys")])
    with pytest.raises(SemsearchError, match="name a text"):
        store.forget(blank)
    assert len(store.read()) == 1


def test_traces_that_stay_while_another_process_reads_are_a_sentence(store, monkeypatch):
    store.write([search("project totoro")])
    monkeypatch.setattr(module, "SECONDS_FOR_OTHERS", 0.01)
    with closing(sqlite3.connect(store.folder / FILE, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM searches").fetchone()
        with pytest.raises(SemsearchError, match=r"traces of them stay in .* another process reads them"):
            store.forget("totoro")
    assert store.forget("totoro") == 0
    assert b"totoro" not in everything_in(store.folder)


def test_records_go_into_a_new_file_when_the_old_one_was_moved_away(store):
    store.write([search("before")])
    (store.folder / FILE).rename(store.folder / "november.sqlite3")
    store.write([search("after")])
    assert [item.query for item in store.read()] == ["after"]
    assert (store.folder / FILE).stat().st_mode & 0o077 == 0


def test_the_file_is_never_readable_by_others_not_even_while_it_is_made(tmp_path, monkeypatch):
    modes = []
    monkeypatch.setattr(Path, "chmod", lambda path, mode: modes.append(path.stat().st_mode & 0o777))
    InsightStore(tmp_path)
    assert modes == [0o600]


def test_a_file_with_other_columns_is_a_sentence(tmp_path):
    with closing(sqlite3.connect(tmp_path / FILE)) as other:
        other.execute("CREATE TABLE searches (id INTEGER PRIMARY KEY, hour TEXT, query TEXT)")
    with pytest.raises(ConfigurationError, match=r"no such column: site; move the file away"):
        InsightStore(tmp_path)


def test_a_text_that_cannot_be_forgotten_now_is_a_sentence(store, monkeypatch):
    store.write([search("project totoro")])
    monkeypatch.setattr(module, "SECONDS_FOR_OTHERS", 0.01)
    with closing(sqlite3.connect(store.folder / FILE)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(SemsearchError, match=r"searches\.sqlite3: database is locked\. Run it again\.$"):
            store.forget("totoro")
    assert store.forget("totoro") == 1


def test_old_records_are_deleted_and_leave_no_trace_on_the_disk(tmp_path):
    store = InsightStore(tmp_path, days=30)
    store.write([search("project totoro", hour="2026-10-01T00"), search(hour="2026-11-01T00")])
    assert store.clean(datetime(2026, 11, 22, tzinfo=UTC)) == 1
    assert [item.hour for item in store.read()] == ["2026-11-01T00"]
    assert b"totoro" not in everything_in(tmp_path)


def test_the_oldest_records_are_deleted_when_the_file_is_too_large(tmp_path):
    store = InsightStore(tmp_path, days=36500, megabytes=1)
    store.write([search(f"{day} " + "x" * 290, hour=f"2026-{1 + day // 400:02}-01T00") for day in range(4400)])
    assert store.clean() > 0
    assert (tmp_path / FILE).stat().st_size <= 1_050_000
    left = store.read()
    assert len(left) > 1000
    assert min(item.hour for item in left) > "2026-01-01T00"


def test_several_threads_may_write(store):
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda i: InsightStore(store.folder).write([search(str(i))] * 10), range(30)))
    assert len(store.read()) == 300


def test_records_become_a_parquet_file(store, tmp_path):
    store.write([search(opened="a.md", rank=1), search(score=None)])
    assert store.export(tmp_path / "searches.parquet") == 2
    table = pq.read_table(tmp_path / "searches.parquet")
    assert sorted(table["rank"].to_pylist(), key=str) == [1, None]
    assert set(table["query"].to_pylist()) == {"rotate keys"}
    assert InsightStore(tmp_path / "none").export(tmp_path / "none.parquet") == 0


def test_an_export_that_fails_leaves_the_earlier_file(store, tmp_path, monkeypatch):
    file = tmp_path / "searches.parquet"
    store.write([search()])
    store.export(file)
    before = file.read_bytes()
    store.write([search("another")])

    def fail(self, target):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(SemsearchError, match="cannot be written"):
        store.export(file)
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.glob(".*")} == set()


def test_an_export_removes_the_part_of_a_killed_one(store, tmp_path):
    part = tmp_path / ".searches.parquet.1-a.part"
    part.touch()
    os.utime(part, (1, 1))
    store.export(tmp_path / "searches.parquet")
    assert not part.exists()


def test_the_recorder_writes_all_that_waits_when_it_is_closed(store):
    recorder = Recorder(store)
    recorder.start()
    assert all(recorder.record(search(str(i))) for i in range(700))
    recorder.close()
    assert len(store.read()) == recorder.counts["written"] == 700


def test_old_records_are_deleted_even_if_nobody_searches(store, monkeypatch):
    monkeypatch.setattr(recorder_module, "SECONDS_BETWEEN_CLEANINGS", 0.05)
    store.write([search(hour="2020-01-01T00")])
    recorder = Recorder(store)
    recorder.start()
    assert eventually(lambda: store.read() == [])
    store.write([search(hour="2020-01-01T00")])
    assert eventually(lambda: store.read() == [])
    recorder.close()


def test_a_flood_of_records_is_cut_before_the_next_cleaning(tmp_path):
    recorder = Recorder(InsightStore(tmp_path, megabytes=1))
    recorder.start()
    for _ in range(8):
        waits = recorder.counts["written"] + 1500
        assert all(
            recorder.record(search("x" * 300, hour=datetime.now(UTC).strftime("%Y-%m-%dT%H"))) for _ in range(1500)
        )
        assert eventually(lambda waits=waits: recorder.counts["written"] == waits)
    recorder.record(search())
    recorder.close()
    assert (tmp_path / FILE).stat().st_size < 3_000_000


def test_an_unexpected_error_does_not_end_the_recording(store, monkeypatch, caplog):
    def fail(*given):
        raise OverflowError("date value out of range")

    monkeypatch.setattr(store, "clean", fail)
    recorder = Recorder(store)
    recorder.start()
    recorder.record(search("kept"))
    recorder.close()
    assert [item.query for item in store.read()] == ["kept"]
    assert "cannot be deleted" in caplog.text


def test_records_that_could_not_be_written_are_counted_in_the_file(store, monkeypatch):
    recorder = Recorder(store)
    write = store.write

    def fail(*given):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(store, "write", fail)
    for query in ("lost", "kept"):
        recorder.record(search(query))
        recorder.start()
        recorder.close()
        monkeypatch.setattr(store, "write", write)
    assert store.counters() == {"failed": 1}


def test_a_recorder_writes_only_while_it_runs_and_can_be_started_again(store):
    recorder = Recorder(store)
    assert "semsearch-insights" not in {thread.name for thread in threading.enumerate()}
    recorder.close()
    for name in ("one", "two"):
        recorder.record(search(name))
        recorder.start()
        recorder.close()
    assert {item.query for item in store.read()} == {"one", "two"}


def test_a_full_queue_drops_records_counts_them_and_does_not_wait(store, monkeypatch):
    monkeypatch.setattr(recorder_module, "QUEUE", 5)
    monkeypatch.setattr(recorder_module, "SECONDS", 0.05)
    locked = threading.Event()
    write = store.write
    monkeypatch.setattr(store, "write", lambda *given: (locked.wait(60), write(*given)))
    recorder = Recorder(store)
    recorder.start()
    results = [recorder.record(search(str(i))) for i in range(600)]
    assert recorder.counts["written"] == 0  # nothing waited for the writer, which still stands still
    assert not all(results)
    locked.set()
    recorder.close()
    again = Recorder(store)
    again.start()
    again.record(search("last"))
    again.close()
    counts = recorder.counts
    assert counts["written"] + counts["dropped"] == 600
    assert counts["dropped"] == results.count(False)
    assert store.counters()["dropped"] <= counts["dropped"]


def test_a_full_disk_gives_one_warning(store, caplog, monkeypatch):
    monkeypatch.setattr(recorder_module, "SECONDS", 0.01)
    recorder = Recorder(store)
    recorder.start()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    size = (store.folder / FILE).stat().st_size
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with caplog.at_level(logging.WARNING, "mkdocs_semsearch"):
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size + 4096, hard))
            for i in range(60):
                assert recorder.record(search(f"{i} " + "x" * 280))
                time.sleep(0.02)
                if recorder.counts["failed"] > 3:
                    break
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)
        recorder.record(search("room again"))
        recorder.close()
    told = [record.message for record in caplog.records]
    assert len(told) == 2, told
    assert "cannot be recorded" in told[0]
    assert "again" in told[1]
    assert recorder.counts["failed"] > 0
    assert "room again" in {item.query for item in store.read()}


def test_a_disk_that_is_full_at_the_start_is_tried_again(tmp_path):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        store = InsightStore(tmp_path, must_open=False)
        with pytest.raises(sqlite3.Error):
            store.write([search("lost")])
        with pytest.raises(ConfigurationError, match="see that this user may write there and that the disk has room"):
            InsightStore(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    store.write([search("kept")])
    assert [item.query for item in store.read()] == ["kept"]


def test_a_file_without_tables_gets_them_after_an_error(store):
    (store.folder / FILE).unlink()
    (store.folder / FILE).touch()  # as it is left by another process that finds the disk full
    with pytest.raises(sqlite3.Error):
        store.write([search("lost")])
    store.write([search("kept")])
    assert [item.query for item in store.read()] == ["kept"]


def test_a_damaged_file_stays_as_it_is_until_it_is_moved_away(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(recorder_module, "SECONDS", 0.01)
    damaged = random.Random(1).randbytes(20_000)
    (tmp_path / FILE).write_bytes(damaged)
    recorder = Recorder(InsightStore(tmp_path, must_open=False))
    with caplog.at_level(logging.WARNING, "mkdocs_semsearch"):
        recorder.start()
        assert eventually(lambda: caplog.records)
        recorder.record(search("lost"))
        assert eventually(lambda: recorder.counts["failed"] == 1)
        assert (tmp_path / FILE).read_bytes() == damaged
        (tmp_path / FILE).rename(tmp_path / "damaged.sqlite3")
        recorder.record(search("kept"))
        recorder.close()
    told = [record.message for record in caplog.records]
    assert len(told) == 2, told
    assert "file is not a database; move the file away, and `semsearch serve` begins a new one. Searches con" in told[0]
    assert "again" in told[1]
    assert [item.query for item in InsightStore(tmp_path).read()] == ["kept"]


def test_a_recorder_does_not_begin_where_it_may_not_write(store, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / FILE).mkdir()
    for folder in (tmp_path / "file", tmp_path):
        with pytest.raises(ConfigurationError, match="cannot be opened: "):
            InsightStore(folder, must_open=False)
    address = module._address
    monkeypatch.setattr(module, "_address", lambda file: address(file) + "-that-may-not-be-opened")
    InsightStore(store.folder, must_open=False)
    monkeypatch.setattr(os, "access", lambda *given: False)
    with pytest.raises(ConfigurationError, match="cannot be opened: "):
        InsightStore(store.folder, must_open=False)


def test_a_new_file_that_another_process_writes_is_waited_for(tmp_path):
    with (
        closing(sqlite3.connect(tmp_path / FILE, isolation_level=None)) as other,
        ThreadPoolExecutor(1) as pool,
    ):
        other.execute("CREATE TABLE begun (x)")
        other.execute("BEGIN IMMEDIATE")
        opening = pool.submit(InsightStore, tmp_path)
        with pytest.raises(TimeoutError):
            opening.result(timeout=0.3)
        other.execute("ROLLBACK")
        assert opening.result().read() == []


def test_a_text_that_is_not_utf_8_counts_as_damage(store):
    store.write([search("one")])
    with closing(sqlite3.connect(store.folder / FILE)) as database, database:
        database.execute("UPDATE searches SET query = CAST(x'ff' AS TEXT)")
    with pytest.raises(SemsearchError, match="move the file away"):
        store.read()
