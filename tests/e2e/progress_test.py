#!/usr/bin/env python3
"""Long work says how far it is: on a terminal, from its third second on, and nowhere else.

A recording comes slowly, through a pipe or by a file system that the test holds back (a FIFO), so that
nothing depends on how fast the machine is.
"""
import os
import pty
import re
import subprocess
import tempfile
import threading

import harness
from harness import JITSCOPE, check


def record(folder):
    data = os.path.join(folder, "perf.data")
    done = subprocess.run([JITSCOPE, "record", "-o", data, "-F", "99", "--", "sh", "-c",
                           "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"record: {done.stderr}")
    return data


def slow_run(verb, data, terminal):
    """What is written to standard error while the recording comes in two parts, the second when the test
    has seen what it waits for (terminal), or after three seconds."""
    out_read, out_write = os.pipe()
    if terminal:
        error_read, error_write = pty.openpty()
    else:
        error_read, error_write = os.pipe()
    feed_read, feed_write = os.pipe()
    process = subprocess.Popen([JITSCOPE, *verb, "-i", "-"], stdin=feed_read, stdout=out_write, stderr=error_write,
                               env={**os.environ, "TERM": "xterm"})
    for fd in (out_write, error_write, feed_read):
        os.close(fd)
    drain = threading.Thread(target=lambda: [None for _ in iter(lambda: os.read(out_read, 65536), b"")])
    drain.start()
    content = open(data, "rb").read()
    half = len(content) // 2
    os.write(feed_write, content[:half]) if half < 65536 else None
    told = b""
    if terminal:
        while b"MB/s" not in told and b" s" not in told:
            told += os.read(error_read, 4096)
    else:
        try:  # past the time from which a terminal would be told
            process.wait(timeout=3)
        except subprocess.TimeoutExpired:
            pass
    rest = content[half:] if half < 65536 else content
    with os.fdopen(feed_write, "wb") as feed:
        feed.write(rest)
    while True:
        try:
            piece = os.read(error_read, 4096)
        except OSError:
            break
        if not piece:
            break
        told += piece
    process.wait()
    drain.join()
    os.close(out_read)
    os.close(error_read)
    return process.returncode, told.decode(errors="replace")


def test_on_a_terminal():
    with tempfile.TemporaryDirectory() as folder:
        data = record(folder)
        for verb in (["report"], ["script"], ["flame", "-o", os.path.join(folder, "x.html")], ["doctor"]):
            status, told = slow_run(verb, data, True)
            check(status == 0, f"{verb[0]}: status {status}: {told}")
            check(re.search(r"\rreading -: ", told), f"{verb[0]} says how far it is: {told!r}")
            after = told[told.rindex("\x1b[K"):]
            check("reading -" not in after, f"{verb[0]} takes the line away at its end: {told!r}")


def test_nowhere_else():
    with tempfile.TemporaryDirectory() as folder:
        status, told = slow_run(["report"], record(folder), False)
        check(status == 0, f"report: status {status}: {told}")
        check("reading" not in told and "\r" not in told, f"a file of messages has no such lines: {told!r}")


if __name__ == "__main__":
    harness.main(test_on_a_terminal, test_nowhere_else)
