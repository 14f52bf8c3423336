"""A disk that is full, and a file that may not grow (RLIMIT_FSIZE): an error that says so and a status that tells, what
was there before as it was, nothing half written under a name, a recording that can be read up to there, and a target
that is put back.
"""

import functools
import os
import pathlib
import resource
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import harness
from harness import JITSCOPE, TIME_FACTOR, Child, Failure, Skip, check, equal, scratch
from profiles import perf_environment
from runtimes import hot_name, in_use, start_jit_page, start_node, warm

LIMIT = 60
FULL = "No space left on device"
LARGE = "File too large"


class Disk:
    """A small file system in a mount namespace of its own: `place` is where it lies there, `path` the way from here."""

    def __init__(self, size):
        if os.geteuid() != 0 or not shutil.which("unshare"):
            raise Skip("needs root and unshare")
        self.place = scratch("/var/tmp")
        self.holder = Child(["unshare", "--mount", "sh", "-c",
                             f"mount -t tmpfs -o size={size} tmpfs {self.place} && echo ready && read nothing"])
        self.holder.expect("ready")
        self.path = pathlib.Path(f"/proc/{self.holder.pid}/root{self.place}")

    def run(self, *words, **more):
        return run(*words, inside=self, **more)

    def fill(self):
        with open(self.path / "filler", "ab", buffering=0) as file:
            while True:
                try:
                    file.write(b"x" * 4096)
                except OSError:
                    return

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.holder.kill()


def run(*words, status=(3,), stdout=subprocess.PIPE, bytes_a_file=None, inside=None):
    enter = ["nsenter", "--mount", "--target", str(inside.holder.pid)] if inside else []

    def bound():
        if bytes_a_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_a_file, bytes_a_file))
    try:
        done = subprocess.run([*enter, JITSCOPE, *map(str, words)], stdin=subprocess.DEVNULL, stdout=stdout,
                              stderr=subprocess.PIPE, env=perf_environment(), check=False, text=True, errors="replace",
                              preexec_fn=bound, timeout=LIMIT * TIME_FACTOR)
    except subprocess.TimeoutExpired:
        raise Failure(f"{words} does not end") from None
    check(done.returncode in status, f"{words}: status {done.returncode}: {done.stderr[-600:]}")
    return done


class Prepared:
    def __init__(self):
        self.directory = scratch("/var/tmp")
        self.target = start_jit_page()
        self.target.write_map()
        self.target.send("go 1000000000")
        self.pid = self.target.pid
        self.data = self.directory / "perf.data"
        run("record", "-p", self.pid, "-e", "cpu-clock", "--duration", "0.3", "-o", self.data, status=(0,))


@functools.cache
def prepared():
    return Prepared()


def tree(folder):
    """Every file below, with what it holds."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*"))
            if path.is_file() and path.name != "filler"}


def writers(folder):
    """(the words of a run that writes a file, those of one that replaces it)"""
    ready = prepared()
    for name in ("x.html", "x.folded", "x.pb.gz", "x.speedscope.json", "x.firefox.json"):
        words = ("flame", "-i", ready.data, "-o", folder / name)
        yield words, words
    words = ("inject", "-i", ready.data, "-o", folder / "inj.data")
    yield words, (*words, "--overwrite")
    words = ("image", "build", "-p", ready.pid, "-o", folder / "x.elf")
    yield words, (*words, "--force")
    words = ("map", "-p", ready.pid, "-o", folder / "x.map")
    yield words, words
    yield ("map", "--jitdump", "-p", ready.pid, "-o", folder / "x.dump"), None


def test_full_disk():
    for write, _ in writers(pathlib.Path()):
        with Disk("64k") as disk:
            disk.fill()
            done = disk.run(*write[:-1], disk.place / write[-1])
            check(FULL in done.stderr, f"{write}: {done.stderr}")
            equal(tree(disk.path), {}, f"{write}: nothing is left")


def test_full_disk_with_an_earlier_output():
    with Disk("4m") as disk:
        both = [each for each in writers(disk.place) if each[1]]
        for write, _ in both:
            disk.run(*write, status=(0,))
        disk.fill()
        before = tree(disk.path)
        check(len(before) > len(both), f"there are outputs, and images: {list(before)}")
        for _, again in both:
            done = disk.run(*again)
            check(FULL in done.stderr, f"{again}: {done.stderr}")
            equal(tree(disk.path), before, f"{again}: what was there before")


def test_files_that_may_not_grow():
    directory = scratch("/var/tmp")
    for write, _ in writers(directory):
        done = run(*write, bytes_a_file=100)
        check(LARGE in done.stderr, f"{write}: {done.stderr}")
        equal(tree(directory), {}, f"{write}: nothing is left")


def is_cut_but_readable(done, data, why, disk=None):
    check(why in done.stderr and str(data) in done.stderr, f"record says what there is: {done.stderr}")
    report = run("report", "-i", data, "--json", status=(0,), inside=disk)
    check('"samples":' in report.stdout and "page_f" in report.stdout, f"samples with names: {report.stdout[:400]}")


def record_words(data):
    return ("record", "-p", prepared().pid, "-e", "cpu-clock", "-F", "20000", "-o", data)


def test_recording_fills_the_disk():
    with Disk("768k") as disk:
        data = disk.place / "perf.data"
        (disk.path / "perf.data").write_text("earlier")
        is_cut_but_readable(disk.run(*record_words(data)), data, FULL, disk)
        equal((disk.path / "perf.data.old").read_text(), "earlier", "the recording before")


def test_recording_that_may_not_grow():
    data = scratch("/var/tmp") / "perf.data"
    is_cut_but_readable(run(*record_words(data), bytes_a_file=500_000), data, LARGE)


def test_recording_on_a_full_disk():
    with Disk("64k") as disk:
        (disk.path / "perf.data").write_text("earlier")
        disk.fill()
        done = disk.run(*record_words(disk.place / "perf.data"))
        check(FULL in done.stderr, done.stderr)
        equal(tree(disk.path), {"perf.data": b"earlier"}, "the recording before, and nothing else")


def test_trace_to_a_full_disk():
    """Its output fails in the middle: the target is put back all the same."""
    with start_node("--perf-basic-prof", "--no-turbo-inlining") as target, Disk("64k") as disk:
        warm(target, [hot_name()], "turbofan")
        entries = [int(body["entry"], 0) for each in in_use(target, "truth.js:hot").values() for body in each]
        before = [target.memory(entry, 16).hex() for entry in entries]
        for options in (("--json",), ()):
            with open(disk.path / "out", "w", encoding="utf-8") as out, ThreadPoolExecutor(1) as pool:
                running = pool.submit(run, "trace", "-p", target.pid, "--limit", "0", *options, "truth.js:hot", stdout=out)
                while not running.done():
                    target.go("go 10000")
                done = running.result()
            check(FULL in done.stderr, done.stderr)
            equal([target.memory(entry, 16).hex() for entry in entries], before, "the target's code")
        target.go("go 1000")
        target.check_sound()


def test_text_to_a_full_disk():
    ready = prepared()
    for words in (("script", "-i", ready.data), ("script", "-i", ready.data, "--json"), ("report", "-i", ready.data),
                  ("doctor", "-i", ready.data), ("flame", "-i", ready.data, "-o", "-.folded"), ("ps",),
                  ("methods", "-p", ready.pid), ("map", "-p", ready.pid, "-o", "-"), ("--help",),
                  ("expose", "-p", ready.pid, "--undo")):
        with open("/dev/full", "w", encoding="utf-8") as full:
            check(FULL in run(*words, stdout=full).stderr, f"{words} says so")


def test_command_has_its_own_signals():
    def ignored(text):
        return next(line for line in text.splitlines() if line.startswith("SigIgn"))
    data = scratch("/var/tmp") / "perf.data"
    words = ("grep", "SigIgn", "/proc/self/status")
    told = run("record", "-e", "cpu-clock", "-o", data, "--", *words, status=(0,)).stdout
    equal(ignored(told), ignored(subprocess.run(words, capture_output=True, text=True, check=True).stdout), "signals")


harness.main(test_full_disk, test_full_disk_with_an_earlier_output, test_files_that_may_not_grow,
             test_recording_fills_the_disk, test_recording_that_may_not_grow, test_recording_on_a_full_disk,
             test_trace_to_a_full_disk, test_text_to_a_full_disk, test_command_has_its_own_signals)
