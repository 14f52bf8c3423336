"""Recordings: made with perf, read by perf and by jitscope, and told sample by sample.

Whatever says what is true here (perf's sample fields, registers, a jitdump, a perf map) is read with code
of its own, none of it the project's.
"""

import collections
import json
import os
import pathlib
import re
import resource
import shutil
import subprocess

from harness import JITSCOPE, TIME_FACTOR, Failure, Skip, check, equal, scratch

BASE = 0x5EED0000  # of the numbers in r15: tests/programs/truth_jit.cc

_home = None


def program(name):
    """A target of tests/programs."""
    folder = os.environ.get("JITSCOPE_PROGRAMS", str(pathlib.Path(JITSCOPE).parent / "programs"))
    path = os.path.join(folder, name)
    if not os.access(path, os.X_OK):
        raise Skip(f"no program at {path}")
    return path


def perf_environment():
    """perf keeps copies of what it saw below HOME; those go with the test."""
    global _home
    if _home is None:
        _home = scratch("/var/tmp")
    return {**os.environ, "HOME": str(_home), "PERF_CONFIG": "/dev/null", "DEBUGINFOD_URLS": ""}


def run_perf(*words, limit=300, status=(0,), **options):
    binary = shutil.which("perf")
    if not binary:
        raise Skip("no perf in PATH")
    try:
        done = subprocess.run([binary, *map(str, words)], capture_output=True, text=True, errors="replace",
                              env=perf_environment(), stdin=subprocess.DEVNULL,
                              timeout=limit * TIME_FACTOR, check=False, **options)
    except subprocess.TimeoutExpired:
        raise Failure(f"perf {words[0]} does not end") from None
    if words[0] == "record" and "No permission" in done.stderr + done.stdout:
        raise Skip("perf may not record here: " + done.stderr.strip().splitlines()[0])
    if status is not None:
        check(done.returncode in status, f"perf {' '.join(map(str, words))}: status {done.returncode}, "
                                         f"stderr (end): {done.stderr[-800:]}")
    return done


Recording = collections.namedtuple("Recording", "data out directory")


def record(*argv, options=(), clock=("-k", "mono"), frequency=5000, status=(0,), cwd=None, name="perf.data",
           directory=None):
    """Records a command with the clock event (without a frequency: with those of the options); its files are
    in a directory of their own."""
    directory = directory or scratch()
    data = directory / name
    event = ("-e", "cpu-clock", "-F", frequency) if frequency else ()
    done = run_perf("record", "-q", *clock, *event, *options, "-o", data, "--",
                    *argv, status=status, cwd=cwd or directory)
    return Recording(data, done.stdout.splitlines(), directory)


_elf = {}


def in_elf(sample):
    """In a mapped file that is ELF here: what its own symbols name comes before a perf map."""
    path = sample.frames[0].dso
    if path not in _elf:
        try:
            with open(path, "rb") as file:
                _elf[path] = file.read(4) == b"\x7fELF"
        except OSError:
            _elf[path] = False
    return _elf[path]


Frame = collections.namedtuple("Frame", "ip symbol offset dso inlined")
Sample = collections.namedtuple("Sample", "comm pid tid cpu time event ip frames registers")

_HEAD = re.compile(r"\s*(.*?)\s+(?:(-?\d+)/)?(-?\d+)\s+(?:\[(\d+)\]\s+)?(\d+)\.(\d+):\s+(?:(\d+)\s+)?"
                   r"(\S+?):\s*(.*)$")
_FRAME = re.compile(r"\s*([0-9a-f]+) (?:(\[unknown\])|(.*)\+0x([0-9a-f]+)(\??)) \((.*)\)$")
_BARE = re.compile(r"\s*([0-9a-f]+) (.*?) \((.*)\)$")
_REGISTER = re.compile(r"([A-Z0-9]+):0x([0-9a-f]+)")


def parse_frame(text):
    found = _FRAME.match(text)
    if found:
        symbol = found[2] or found[3]
        return Frame(int(found[1], 16), symbol, int(found[4], 16) if found[4] else None, found[6], False)
    found = _BARE.match(text)
    check(found, f"no frame: {text!r}")
    inlined = found[3] == "inlined"
    return Frame(int(found[1], 16), found[2], None, "" if inlined else found[3], inlined)


def _sample(head, lines):
    comm, pid, tid, cpu, seconds, fraction, _, event, rest = head.groups()
    registers = {}
    if " ABI:" in " " + rest:
        rest, _, tail = (" " + rest).partition(" ABI:")
        registers = {name.lower(): int(value, 16) for name, value in _REGISTER.findall(tail)}
    texts = [rest] if rest.strip() else []
    frames = [parse_frame(text) for text in texts + lines]
    nanoseconds = int(seconds) * 10**9 + int(fraction.ljust(9, "0"))
    return Sample(comm, int(pid) if pid else None, int(tid), int(cpu) if cpu else None, nanoseconds, event,
                  frames[0].ip if frames else None, frames, registers)


def parse_script(lines):
    """Samples of perf script's layout, with or without call chains; an iterator."""
    head, below = None, []
    for line in lines:
        line = line.rstrip("\n")
        if not line.strip():
            continue
        # Lines of a chain begin with a tab; a sample's own line has a time, a chain's has none.
        if line.startswith("\t") and head:
            below.append(line)
            continue
        if head:
            yield _sample(head, below)
        head, below = _HEAD.match(line), []
        check(head, f"no sample: {line!r}")
    if head:
        yield _sample(head, below)


def perf_script(data, *options, fields="comm,pid,tid,time,event,ip,sym,symoff,dso", **more):
    """All samples as perf tells them, in its order."""
    words = ["script", "--ns", "-i", data, *options] + (["-F", fields] if fields else [])
    return list(parse_script(run_perf(*words, **more).stdout.splitlines()))


def run_jitscope(*words, status=(0, 1), limit=120, memory=None, cwd=None):
    """To its end, within a time and within an address space: a hostile file must not take more."""
    if not os.access(JITSCOPE, os.X_OK):
        raise Skip(f"no jitscope at {JITSCOPE}")

    def bound():
        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    try:
        done = subprocess.run([JITSCOPE, *map(str, words)], capture_output=True, text=True, errors="replace",
                              stdin=subprocess.DEVNULL, env=perf_environment(), cwd=cwd, check=False,
                              timeout=limit * TIME_FACTOR, preexec_fn=bound if memory else None)
    except subprocess.TimeoutExpired:
        raise Failure(f"jitscope {' '.join(map(str, words))} does not end") from None
    check(done.returncode in status, f"jitscope {' '.join(map(str, words))}: status {done.returncode}, "
                                     f"expected {status}; stderr (end): {done.stderr[-800:]}")
    return done


def number(value):
    return value if isinstance(value, int) else int(value, 16)


# perf_event's numbers of x86-64 registers, as far as they are used here.
REGISTER_NAMES = {8: "ip", 23: "r15"}


class Named:
    """A sample as `jitscope script --json` tells it."""

    def __init__(self, fields):
        self.fields = fields
        self.pid, self.tid, self.time = fields["pid"], fields["tid"], fields["time"]
        self.ip = number(fields["ip"])
        self.frames = fields["frames"]
        self.registers = {REGISTER_NAMES.get(int(bit), bit): number(value)
                          for bit, value in fields.get("user_regs", {}).items()}

    @property
    def leaf(self):
        return self.frames[0] if self.frames else {}

    @property
    def candidates(self):
        told = self.leaf.get("candidates") or []
        return told.split(" | ") if isinstance(told, str) else told


def jitscope_samples(data, *options, **more):
    text = run_jitscope("script", "-i", data, "--json", *options, **more).stdout
    found = []
    for line in text.splitlines():
        fields = json.loads(line)
        if fields["type"] == "sample":
            found.append(Named(fields))
    return found


def doctor(data, *options, **more):
    """What it says, in small letters."""
    done = run_jitscope("doctor", "-i", data, *options, **more)
    return (done.stdout + done.stderr).lower()


def same_samples(told, named):
    """Pairs of both tools' samples: all of them, in the same order."""
    equal(len(named), len(told), "samples that jitscope and perf tell of")
    for ours, theirs in zip(named, told):
        equal((ours.tid, ours.time, ours.ip), (theirs.tid, theirs.time, theirs.ip), "tid, time, ip")
    return list(zip(told, named))


# --- the arena of truth_jit ------------------------------------------------------------------------------

Arena = collections.namedtuple("Arena", "start end permanent_end")


def arena_of(recording):
    told = dict(line.split(" ", 1) for line in recording.out)
    check("arena" in told and "permanent" in told, f"what truth_jit printed: {recording.out}")
    start, end = (int(word, 16) for word in told["arena"].split())
    return Arena(start, end, int(told["permanent"].split()[1], 16))


REGISTERS = ("--user-regs=r15,ip",)
REGISTER_FIELDS = "comm,pid,tid,time,event,ip,sym,symoff,dso,uregs"


def in_arena(sample, arena):
    return arena.start <= sample.ip < arena.end


def true_name(sample):
    """Of a sample in the arena."""
    return f"func_{sample.registers['r15'] - BASE}"


class Score:
    """How samples were named, against the truth."""

    def __init__(self):
        self.right = self.wrong = self.unnamed = self.ambiguous = self.candidate = 0
        self.examples = []

    def take(self, truth, name, ambiguous=False, candidates=(), where=None):
        if not name or name == "[unknown]":
            self.unnamed += 1
            self._example(f"unnamed {truth} {where}")
        elif ambiguous:
            self.ambiguous += 1
            self.candidate += name == truth or truth in candidates
        elif name == truth:
            self.right += 1
        else:
            self.wrong += 1
            self._example(f"{truth} was named {name} {where}")

    def _example(self, text):
        if len(self.examples) < 5:
            self.examples.append(text)

    @property
    def all(self):
        return self.right + self.wrong + self.unnamed + self.ambiguous

    def __str__(self):
        text = f"{self.wrong} wrong, {self.unnamed} unnamed"
        if self.ambiguous:
            text += f", {self.ambiguous} ambiguous (the truth among the names of {self.candidate})"
        return text + f", {self.right} right of {self.all}"


def score_perf(samples, truth):
    """`truth(sample)` is the name, or None for a sample that does not count."""
    score = Score()
    for sample in samples:
        wanted = truth(sample)
        if wanted is not None:
            score.take(wanted, sample.frames[0].symbol)
    return score


def score_jitscope(pairs, truth, field="method"):
    score = Score()
    for told, ours in pairs:
        wanted = truth(told)
        if wanted is not None:
            leaf = ours.leaf
            score.take(wanted, leaf.get(field), leaf.get("ambiguous", False), ours.candidates,
                       f"(ip {ours.ip:#x}, time {ours.time}, frame {leaf})")
    return score


def say(what, who, score):
    print(f"     {what}: {who}: {score}", flush=True)


def nothing_wrong(score, what, at_least):
    check(score.all >= at_least, f"{what}: only {score.all} samples to judge")
    check(score.wrong == 0, f"{what}: {score}: {score.examples}")


def all_right(score, what, at_least):
    nothing_wrong(score, what, at_least)
    check(score.right == score.all, f"{what}: {score}: {score.examples}")


def inject(recording, what):
    """perf's own way: inject, then script; None and a line when it refuses."""
    out = recording.directory / "injected.data"
    done = run_perf("inject", "--jit", "-i", recording.data, "-o", out, status=None, cwd=recording.directory)
    if done.returncode != 0:
        print(f"     {what}: perf inject ends with {done.returncode}: {done.stderr.strip()[:160]}")
        return None
    return out

