"""Records of searches, written by several processes and by processes that are killed."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

from mkdocs_semsearch.insights.store import FILE, InsightStore

RECORDING = """
import sys
from pathlib import Path
from mkdocs_semsearch.insights import recorder as module, store as records
from tests.unit.insights.made_searches import search
records.SECONDS_FOR_OTHERS = module.SECONDS_TO_CLOSE = 600  # however slow the machine is
module.SECONDS, module.BATCH = 0.001, 5
print("ready", flush=True)
name = sys.stdin.readline().strip()
store = module.InsightStore(Path(sys.argv[1]))
recorder = module.Recorder(store)
recorder.start()
for number in range(200):
    assert recorder.record(search(f"{name} {number}"))
    if number % 50 == 49:
        store.forget(f"{name} {number}")  # deletes, and empties the log, while others write
        store.clean()
recorder.close()
print(recorder.counts["written"], recorder.counts["failed"], flush=True)
"""


def test_several_processes_record_into_one_new_folder(tmp_path):
    command = [sys.executable, "-c", RECORDING, str(tmp_path / "insights")]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(4)]
    try:
        assert {writer.stdout.readline() for writer in writers} == {"ready\n"}
        for number, writer in enumerate(writers):  # they make the folder, the file and its tables at the same time
            print(f"writer-{number}", file=writer.stdin, flush=True)
        assert [writer.communicate()[0] for writer in writers] == ["200 0\n"] * 4
    finally:
        for writer in writers:
            writer.kill()
            writer.communicate()
    with closing(sqlite3.connect(tmp_path / "insights" / FILE)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    found = [item.query for item in InsightStore(tmp_path / "insights").read()]
    assert len(found) == len(set(found))
    told = {f"writer-{writer} {number}" for writer in range(4) for number in range(200)}
    forgotten = {f"writer-{writer} {number}" for writer in range(4) for number in (49, 99, 149, 199)}
    assert told - forgotten <= set(found) <= told


# Each writer is a fork of a process without threads that has the imports done: they take longer than the writing.
WRITERS = """
import os, sys
from pathlib import Path
from mkdocs_semsearch.insights import recorder as module
from tests.unit.insights.made_searches import search
module.SECONDS = 0.001

def write():
    recorder = module.Recorder(module.InsightStore(Path(sys.argv[1])))
    recorder.start()
    os.write(1, f"{os.getpid()}\\n".encode())
    while True:
        recorder.record(search("x" * 200))
        os.write(1, f"{recorder.counts['written']}\\n".encode())

for _ in sys.stdin:
    writer = os.fork()
    if not writer:
        write()
    os.waitpid(writer, 0)
    os.write(1, b"ended\\n")
"""


def test_a_killed_writer_loses_only_what_waited(tmp_path):
    chance = random.Random(19)
    before = 0
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True, "bufsize": 1}
    with subprocess.Popen([sys.executable, "-c", WRITERS, str(tmp_path)], **pipes) as writers:
        for _ in range(10):
            print("another", file=writers.stdin, flush=True)
            writer = int(writers.stdout.readline())
            moment = time.monotonic() + chance.uniform(0.01, 0.3)
            said = "0"
            while time.monotonic() < moment:
                said = writers.stdout.readline()
            os.kill(writer, signal.SIGKILL)
            for line in writers.stdout:
                if line == "ended\n":
                    break
                said = line
            with closing(sqlite3.connect(tmp_path / FILE)) as database:
                assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            found = len(InsightStore(tmp_path).read())
            assert found >= before + int(said)
            before = found
    assert before > 0
