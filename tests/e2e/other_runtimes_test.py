"""Erlang, Mono, PHP and lli with a perf map or a jitdump: the leaves in their JIT code have the names of the
functions that the programs say they ran, by perf's recordings and by jitscope's own; perf shows the same after
`inject`; `ps` and `doctor` tell the runtimes apart and say what is missing.
"""

import collections
import contextlib
import functools
import json
import pathlib
import re
import struct
import subprocess
import sys

import harness
from dumps import Dump, Map
from harness import PROGRAMS, Run, Skip, check, equal, jitscope, scratch, wait_for
from inject_test import agree
from inject_test import inject as written_again
from other_runtimes import erlang, mono, parts_of, php, program, remove_traces, start
from profiles import (doctor, in_elf, jitscope_samples, perf_script, record, run_jitscope, run_perf,
                      same_samples)

NAMED = 0.95   # of the leaves in JIT code
HOT = 0.9      # are in the very function; the rest is what calls it and asks for the time
KERNEL = 1 << 63


class Verdict:
    """The samples of one process within the parts that it told of."""

    def __init__(self, label, parts, patterns, samples, pid):
        self.label, self.patterns = label, patterns
        self.right = self.other = self.wrong = self.ambiguous = self.unnamed = 0
        self.sources, self.examples = collections.Counter(), []
        self.stripped, self.host = collections.Counter(), 0
        self.perf_wrong = self.perf_unnamed = 0
        for told, ours in samples:
            part = next((name for name, begin, end in parts if begin <= told.time < end), None)
            if told.pid != pid or part is None or told.ip >= KERNEL or not told.frames:
                continue
            # perf knows what is mapped there: a file that is ELF, or something else.
            if in_elf(told):
                self._take_host(told, ours)
            elif told.frames[0].dso not in ("[unknown]", "[vdso]"):
                self._take(part, told, ours)

    def function_of(self, name):
        """Of the known hot functions."""
        return next((part for part, pattern in self.patterns.items() if re.fullmatch(pattern, name or "")), None)

    def _take(self, part, told, ours):
        leaf = ours.leaf
        name = leaf.get("method")
        self.sources[leaf.get("source")] += 1
        # perf prints what the source calls it; our names are what the program's parts are compared with.
        theirs = told.frames[0].symbol
        self.perf_unnamed += theirs == "[unknown]"
        if not name:
            self.unnamed += 1
        elif leaf.get("ambiguous"):
            self.ambiguous += 1
        elif self.function_of(name) == part:
            self.right += 1
            self.perf_wrong += theirs not in ("[unknown]", leaf["raw"], leaf["raw"].removeprefix("$"),
                                              "$" + leaf["raw"])
            return
        elif self.function_of(name):
            self.wrong += 1
        else:
            self.other += 1
        if len(self.examples) < 5:
            self.examples.append(f"{part} at {ours.ip:#x}, {told.time}: {leaf}")

    def _take_host(self, told, ours):
        self.host += 1
        if not ours.leaf.get("method"):
            reason = ours.leaf.get("reason")
            check(reason, f"{self.label}: neither a name nor a reason: {ours.leaf}")
            if "stripped" in reason:
                self.stripped[told.frames[0].dso] += 1

    @property
    def all(self):
        return self.right + self.other + self.wrong + self.ambiguous + self.unnamed

    def __str__(self):
        return (f"{100 * (1 - self.unnamed / max(self.all, 1)):.2f} % of {self.all} leaves in JIT code named: "
                f"{self.right} the right hot function, {self.wrong} another, {self.other} other code, "
                f"{self.ambiguous} ambiguous, {self.unnamed} unnamed ({dict(self.sources)}); perf script: "
                f"{self.perf_unnamed} unnamed, {self.perf_wrong} of the right ones otherwise; {self.host} leaves in "
                f"ELF files, {sum(self.stripped.values())} of them in stripped ones")

    def demand(self, at_least=100, certain=True):
        print(f"     {self.label}: {self}", flush=True)
        check(self.all >= at_least, f"{self.label}: only {self.all} samples to judge")
        equal(self.wrong, 0, f"{self.label}: leaves with the name of another function: {self.examples}")
        check(self.unnamed <= (1 - NAMED) * self.all, f"{self.label}: {self}: {self.examples}")
        if certain:
            check(self.right >= HOT * self.all, f"{self.label}: {self}: {self.examples}")
        for path in self.stripped:
            sections = subprocess.run(["readelf", "-SW", path], capture_output=True, text=True, check=False).stdout
            check(".symtab" not in sections, f"{path} is called stripped, and has symbols")
        return self


@contextlib.contextmanager
def recorded(runtime, *requests, **options):
    """(the recording, its process, what both tools tell of each sample)"""
    taken = record(*runtime.command(requests), frequency=2000, **options)
    pid = int(next(line for line in taken.out if line.startswith("ready ")).split()[1])
    try:
        yield taken, pid
    finally:
        remove_traces(pid)


def both(data, *options):
    # -G: with a stack perf prints the sampled address as an offset in the file.
    return same_samples(perf_script(data, "-G"), jitscope_samples(data, *options))


def agrees_with_source(runtime, pid, pairs):
    """Each name is one that the runtime's own file has at the address, then if it says when."""
    dump, lines = pathlib.Path(f"/tmp/jit-{pid}.dump"), pathlib.Path(f"/tmp/perf-{pid}.map")
    known = Dump(dump) if runtime.source == "jitdump" else Map(lines)
    seen = 0
    for told, ours in pairs:
        if told.pid != pid or ours.leaf.get("source") != runtime.source:
            continue
        seen += 1
        if runtime.source == "jitdump":
            load, overlapped = known.at(told.ip, told.time)
            names = {load.name} if load and not overlapped else None
        else:
            names = known.ever_at(told.ip)
        check(names is None or ours.leaf["raw"] in names, f"{runtime.label}: {ours.leaf} where the file has {names}")
    check(seen > 100, f"{runtime.label}: only {seen} leaves by {runtime.source}")


def named_by_perf_record(make):
    runtime = make()
    with recorded(runtime, "run 500") as (taken, pid):
        pairs = both(taken.data)
        verdict = Verdict(runtime.label, parts_of(taken.out), runtime.parts, pairs, pid).demand()
        named = sum(verdict.sources.values()) - verdict.unnamed
        equal(verdict.sources[runtime.source], named, f"{runtime.label}: leaves named by {runtime.source}")
        agrees_with_source(runtime, pid, pairs)
        rows = [json.loads(line) for line in run_jitscope("report", "-i", taken.data, "--json",
                                                          "--no-children").stdout.splitlines()]
        hottest = [row for row in rows if row["type"] == "row"][:2]
        equal({verdict.function_of(row["method"]) for row in hottest}, set(runtime.parts),
              f"{runtime.label}: the first rows of the report")
        equal({row["source"] for row in hottest}, {runtime.source}, f"{runtime.label}: their source")
        agree(runtime.label, taken.data, written_again(taken.data), 100)


def record_attached(target, data, command):
    """jitscope record, while the target does it; how many lines it had printed before."""
    with Run("record", "-F", "2000", "-p", target.pid, "-o", data) as run:
        wait_for(lambda: data.exists() and data.stat().st_size > 0 or not run.running(), "a recording")
        before = len(target.out)
        target.go(command)
        run.interrupt()
        run.result()
    return before


def named_by_jitscope_record(make):
    """Attached to a process that runs; read when it is gone, with its files."""
    runtime = make()
    directory = scratch()
    data = directory / "perf.data"
    with start(runtime) as target:
        try:
            target.go("run 100")
            before = record_attached(target, data, "run 500")
            target.process.stdin.close()
            equal(target.finish(), 0, f"{runtime.label}: its status")
            pairs = both(data)
            Verdict(f"{runtime.label}, jitscope record -p", parts_of(target.out[before:]), runtime.parts, pairs,
                    target.pid).demand()
        finally:
            remove_traces(target.pid)




TRACING = functools.partial(php, "tracing", "0x10")
FUNCTIONS = functools.partial(php, "function", "0x20")


def test_erlang():
    named_by_perf_record(erlang)


def test_erlang_attached():
    named_by_jitscope_record(erlang)


def test_erlang_map_attached():
    named_by_jitscope_record(functools.partial(erlang, "map"))


def test_mono():
    named_by_perf_record(mono)


def test_mono_attached():
    named_by_jitscope_record(mono)


def test_php_tracing():
    named_by_perf_record(TRACING)


def test_php_functions():
    named_by_perf_record(FUNCTIONS)


def test_php_attached():
    named_by_jitscope_record(TRACING)


# --- code that is replaced ---------------------------------------------------------------------------------

RELOADS = 25


def reload_parts():
    return {f"hot{i}/2": rf"reloaded\.hot{i}/2" for i in range(RELOADS)}


def test_erlang_reload_with_the_jitdump():
    runtime = erlang()
    with recorded(runtime, f"reload {RELOADS} 60") as (taken, pid):
        pairs = both(taken.data)
        verdict = Verdict("Erlang, a module loaded anew, jitdump", parts_of(taken.out), reload_parts(), pairs, pid)
        verdict.demand()
        equal(verdict.ambiguous, 0, "ambiguous")
        addresses = collections.defaultdict(set)
        for _, ours in pairs:
            if ours.leaf.get("source") == "jitdump" and verdict.function_of(ours.leaf.get("method")):
                addresses[ours.ip].add(ours.leaf["method"])
        print(f"     {sum(len(names) > 1 for names in addresses.values())} of {len(addresses)} addresses were sampled "
              "in several versions")
        agree(verdict.label, taken.data, written_again(taken.data), 100)


def test_erlang_reload_with_the_map():
    # The map has no time. What it says alone is sure is right; the rest is marked.
    runtime = erlang("map")
    with recorded(runtime, f"reload {RELOADS} 60") as (taken, pid):
        parts = parts_of(taken.out)
        pairs = both(taken.data)
        verdict = Verdict("Erlang, a module loaded anew, map alone", parts, reload_parts(), pairs, pid)
        verdict.demand(certain=False)
        # perf takes the first line, or the last: a few of the samples are right.
        wrong = judged = candidates = ambiguous = 0
        for told, ours in pairs:
            part = next((name for name, begin, end in parts if begin <= told.time < end), None)
            found = re.fullmatch(r"\$reloaded:(hot\d+/2)", told.frames[0].symbol if told.frames else "")
            if part and found:
                judged += 1
                wrong += found[1] != part
            if part and ours.leaf.get("ambiguous"):
                ambiguous += 1
                candidates += any(verdict.function_of(name) == part for name in ours.candidates)
        print(f"     perf script with the map: {wrong} of {judged} wrong; jitscope: the truth among the candidates "
              f"that are shown in {candidates} of {ambiguous}")
        if wrong:
            check(ambiguous > 0, "perf's names were wrong, and nothing is marked")
            check("ambiguous" in doctor(taken.data), "doctor does not speak of ambiguous names")


def test_erlang_reload_attached():
    # `jitscope record` sees when each line came.
    runtime = erlang("map")
    data = scratch() / "perf.data"
    with start(runtime) as target:
        try:
            target.go("reload 2 50")
            before = record_attached(target, data, f"reload {RELOADS} 100")
            verdict = Verdict("Erlang, a module loaded anew, map and jitscope record", parts_of(target.out[before:]),
                              reload_parts(), both(data), target.pid)
            verdict.demand(certain=False)
        finally:
            remove_traces(target.pid)


def test_erlang_stacks():
    # With frame pointers (+JPperf true) stacks go down to the function that a process returns to at its end:
    # the address is its entry, which is no return from a call.
    runtime = erlang()
    with recorded(runtime, "run 300", options=("-g",)) as (taken, pid):
        parts = parts_of(taken.out)
        stacks = [[frame["raw"] for frame in ours.frames] for ours in jitscope_samples(taken.data)
                  if ours.pid == pid and any(begin <= ours.time < end for _, begin, end in parts)
                  and ours.leaf.get("source") == "jitdump"]
        whole = [stack for stack in stacks if "hot:part/3" in stack and "hot:main/1" in stack]
        ends = collections.Counter(stack[-1] for stack in whole)
        print(f"     Erlang: {len(whole)} of {len(stacks)} stacks have the callers down to hot:main/1; they end in "
              f"{dict(ends)}")
        check(len(whole) >= 100 and len(whole) >= NAMED * len(stacks), f"stacks without callers: {stacks[:3]}")
        equal(set(ends), {"erts_beamasm:normal_exit/0"}, "where they end")
        # perf names what a stack goes through by its own map where no image does: the source's spelling tells.
        lines = run_perf("script", "--no-inline", "--no-demangle", "-F", "ip,sym", "-i",
                         written_again(taken.data).data).stdout
        shown = collections.Counter(re.findall(r"\S*normal_exit\S*", lines))
        equal(set(shown), {"erts_beamasm:normal_exit/0"}, "what perf shows of it")


# --- lli -----------------------------------------------------------------------------------------------------

def test_lli():
    binary = program("lli")
    help_text = subprocess.run([binary, "--help"], capture_output=True, text=True, check=False).stdout
    if "-jit-kind" not in help_text and "mcjit" not in help_text:
        raise Skip("this lli has no -jit-kind")
    directory = scratch()
    # LLVM writes its dump below JITDUMPDIR.
    command = ["env", f"JITDUMPDIR={directory}", binary, "-jit-kind=mcjit", PROGRAMS / "hot.ll"]
    taken = record(*command, frequency=2000, directory=directory)
    found = list(directory.rglob("jit-*.dump"))
    if not found:
        raise Skip("this lli writes no jitdump: LLVM was built without it")
    dump = Dump(found[0])
    pairs = [pair for pair in both(taken.data) if pair[0].pid == dump.pid]
    order = [ours.leaf["method"] for told, ours in pairs if not in_elf(told) and told.ip < KERNEL
             and dump.at(told.ip, told.time)[0]]
    print(f"     lli: {len(order)} leaves in JIT code: {dict(collections.Counter(order))}")
    check(len(order) >= 100, f"only {len(order)} samples to judge")
    first = order.count("hot_first")
    equal(order, ["hot_first"] * first + ["hot_second"] * (len(order) - first), "names, in the order of time")
    check(0 < first < len(order), "both were sampled")
    agree("lli", taken.data, written_again(taken.data), 100)


# --- code in a PE image ------------------------------------------------------------------------------------------

# Maps the code of a PE image as CoreCLR does, each section at its own address, and runs two functions there;
# prints its parts as the other programs do.
PE_PROGRAM = r"""
import ctypes, os, sys, time
path, offset, rva, functions = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:]
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
base = libc.mmap(None, 0x10000, 0, 0x22, -1, 0)
fd = os.open(path, os.O_RDONLY)
code = libc.mmap(base + rva, 0x1000, 5, 0x12, fd, offset)
assert code == base + rva, ctypes.get_errno()
print("ready", os.getpid())
for name, start in (each.split("=") for each in functions):
    run = ctypes.CFUNCTYPE(None, ctypes.c_long)(base + int(start))
    begin = time.monotonic_ns()
    while time.monotonic_ns() - begin < 300_000_000:
        run(1_000_000)
    print("part", name, begin, time.monotonic_ns())
"""


def pe_image(path, offset, rva, code):
    """A PE file with one section: `code` lies at `offset` in the file, and at `rva` in memory."""
    optional = bytearray(240)
    struct.pack_into("<H", optional, 0, 0x20B)
    struct.pack_into("<I", optional, 60, 0x400)
    head = bytearray(0x80)
    head[:2] = b"MZ"
    struct.pack_into("<I", head, 0x3C, 0x80)
    head += b"PE\0\0" + struct.pack("<HHIIIHH", 0x8664, 1, 0, 0, 0, len(optional), 0x2022) + optional
    head += struct.pack("<8sIIII16x", b".text", len(code), rva, len(code), offset)
    path.write_bytes(bytes(head).ljust(offset, b"\0") + code)


def test_pe_image():
    # Addresses of its map are relative to the image; in the file, functions of other names lie there.
    directory = scratch()
    image, lines = directory / "Code.dll", directory / "Code.map"
    loop = bytes.fromhex("4889f9 48ffc9 75fb c3")  # mov %rdi,%rcx; dec %rcx; jne; ret
    pe_image(image, 0x1000, 0x5000, (loop.ljust(0x100, b"\xcc") * 2).ljust(0x1000, b"\xcc"))
    lines.write_text("".join(f"{start:x} 100 {name}\n" for start, name in (
        (0x1000, "decoy_first"), (0x1100, "decoy_second"), (0x5000, "pe_first"), (0x5100, "pe_second"))))
    taken = record(sys.executable, "-c", PE_PROGRAM, image, 0x1000, 0x5000, f"pe_first={0x5000}",
                   f"pe_second={0x5100}", directory=directory, frequency=2000)
    pid = int(taken.out[0].split()[1])
    map_option = ("--map", f"{image}={lines}:base=rva")
    patterns = {"pe_first": "pe_first", "pe_second": "pe_second"}
    Verdict("a PE image, --map with base=rva", parts_of(taken.out), patterns, both(taken.data, *map_option),
            pid).demand()
    agree("a PE image", taken.data, written_again(taken.data, *map_option), 100, *map_option)
    # A perf map of the process does not speak of images: that is not what is missing.
    perf_map = directory / "perf.map"
    perf_map.write_text("1000 10 elsewhere\n")
    options = ("--perf-map", f"{pid}={perf_map}")
    reasons = {ours.leaf.get("reason") for told, ours in both(taken.data, *options)
               if told.pid == pid and told.frames[0].dso == str(image)}
    equal(reasons, {"a mapped file that is no ELF, without a map"}, "reasons without a map of the image")
    check("--map file=path" in doctor(taken.data, *options), "doctor does not speak of --map")


# --- ps and doctor ---------------------------------------------------------------------------------------------

def told_by_ps(target):
    found = [each for each in jitscope("ps", "--json").objects() if each.get("pid") == target.pid]
    equal(len(found), 1, f"lines of ps about {target.pid}")
    return found[0]


def advice(target, status):
    done = jitscope("doctor", "-p", target.pid, "--json", status=status)
    sources = {each["kind"]: each for each in done.objects("source")}
    return sources, done.objects("advice")[0]["text"]


def test_ps_and_doctor():
    tried = 0
    for make in (erlang, mono, TRACING):
        try:
            runtime = make()
        except Skip as reason:
            print(f"note: {reason}")
            continue
        tried += 1
        with start(runtime, silent=True) as target:
            target.go("run 100")
            about = told_by_ps(target)
            equal(about["runtime"], runtime.told, f"{runtime.label}: runtime")
            sources, text = advice(target, 1)
            check(not any(each["used"] for each in sources.values()), f"{runtime.label}: {sources}")
            check(runtime.advice in text, f"{runtime.label}: advice {text!r} without {runtime.advice}")
            # Mono's is empty until 4 KB are full.
            pathlib.Path(target.map_path).touch()
            sources, _ = advice(target, 1)
            check("is empty so far" in sources["perf-map"]["text"], f"{runtime.label}, an empty map: {sources}")
        with start(runtime) as target:
            try:
                target.go("run 100")
                equal(told_by_ps(target)["runtime"], runtime.told, f"{runtime.label}: runtime")
                if runtime.told == "Mono":
                    target.go("fill 100")
                sources, text = advice(target, 0)
                check(sources["perf-map"]["used"], f"{runtime.label}: {sources}")
                check("jitscope record" in text, f"{runtime.label}: {text}")
            finally:
                remove_traces(target.pid)
    if not tried:
        raise Skip("none of these runtimes is here")


if __name__ == "__main__":
    harness.main(test_erlang, test_erlang_attached, test_erlang_map_attached, test_mono, test_mono_attached,
                 test_php_tracing, test_php_functions, test_php_attached, test_erlang_reload_with_the_jitdump,
                 test_erlang_reload_with_the_map, test_erlang_reload_attached, test_erlang_stacks, test_lli,
                 test_pe_image, test_ps_and_doctor)
