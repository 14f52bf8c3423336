#!/usr/bin/env python3
"""Naming a recording: the CPU time and the peak memory of perf and of jitscope, on the same input, in turns.

    bench/naming.py [--size smoke|small|medium] [--rounds N] [--directory DIR] [--inject]

It records its own input (a JVM and Node with thousands of methods; 20 MB small, 250 MB medium) into DIR,
or takes what an earlier run left there. CPU time is user and system time as wait4 tells it, the median of
the rounds; output goes to /dev/null. The ratios that are wanted are printed beside those that were found;
the exit status says only whether the outputs were right: every command has to tell of all samples.

Environment: JITSCOPE, JITSCOPE_PROGRAMS (truth_jit), FLAMEGRAPH (a folder with stackcollapse-perf.pl).
"""

import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import statistics
import struct
import subprocess
import sys
import tempfile

import naming_workload

HERE = pathlib.Path(__file__).resolve().parent
JITSCOPE = os.environ.get("JITSCOPE", str(HERE.parent / "build/release/jitscope"))
PROGRAMS = os.environ.get("JITSCOPE_PROGRAMS", str(pathlib.Path(JITSCOPE).parent / "programs"))
SKIPPED = 77

Size = collections.namedtuple(
    "Size", "classes methods seconds threads shallow deep frequency pages map_lines loads")
SIZES = {
    "smoke": Size(10, 20, 2, 1, 8, 40, 999, 1024, 50_000, 2_000),
    "small": Size(100, 60, 8, 2, 8, 40, 9000, 4096, 1_000_000, 20_000),
    "medium": Size(100, 60, 28, 4, 20, 100, 20000, 8192, 5_000_000, 100_000),
}


def skip(reason):
    print(f"SKIP: {reason}")
    sys.exit(SKIPPED)


def fail(reason):
    print(f"FAIL: {reason}")
    sys.exit(1)


# --- measuring -------------------------------------------------------------------------------------------

Cost = collections.namedtuple("Cost", "cpu mib")
environment = {**os.environ, "PERF_CONFIG": "/dev/null", "DEBUGINFOD_URLS": ""}


def cost_of(*commands):
    """Of a pipeline; all of its commands must succeed."""
    running, before = [], subprocess.DEVNULL
    for i, command in enumerate(commands):
        last = i == len(commands) - 1
        process = subprocess.Popen([str(word) for word in command], stdin=before, env=environment,
                                   stdout=subprocess.DEVNULL if last else subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        if before is not subprocess.DEVNULL:
            before.close()
        before = process.stdout
        running.append((command, process))
    cpu, peak = 0.0, 0
    for command, process in running:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            fail(f"{' '.join(map(str, command))}: status {process.returncode}")
        cpu += usage.ru_utime + usage.ru_stime
        peak = max(peak, usage.ru_maxrss)
    return Cost(cpu, peak / 1024)


def median(costs):
    return Cost(statistics.median(each.cpu for each in costs), max(each.mib for each in costs))


class Table:
    def __init__(self, rounds):
        self.rounds = rounds
        self.missed = 0
        print(f"{'':34}{'perf':>18}{'jitscope':>18}{'faster':>10}{'wanted':>9}{'memory':>9}")

    def compare(self, what, perf, jitscope, wanted, memory=1.0):
        """perf and jitscope: pipelines, run in turns."""
        theirs, ours = [], []
        for _ in range(self.rounds):
            theirs.append(cost_of(*perf))
            ours.append(cost_of(*jitscope))
        perf_cost, our_cost = median(theirs), median(ours)
        ratio = perf_cost.cpu / max(our_cost.cpu, 1e-3)
        share = our_cost.mib / perf_cost.mib
        missed = ratio < wanted or share > memory
        self.missed += missed
        print(f"{what:34}{perf_cost.cpu:8.2f} s {perf_cost.mib:4.0f} MiB{our_cost.cpu:8.3f} s {our_cost.mib:4.0f} MiB"
              f"{ratio:9.1f}x{wanted:8g}x{100 * share:7.0f} %{'  missed' if missed else ''}", flush=True)

    def alone(self, what, command, wanted):
        cost = median([cost_of(command) for _ in range(self.rounds)])
        missed = wanted is not None and cost.cpu >= wanted
        self.missed += missed
        told = f" (wanted: under {wanted} s)" if wanted is not None else ""
        print(f"{what:52}{cost.cpu:8.3f} s {cost.mib:4.0f} MiB{told}{'  missed' if missed else ''}", flush=True)


# --- inputs ----------------------------------------------------------------------------------------------

def run(command, **options):
    done = subprocess.run([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, errors="replace", check=False, **options)
    if done.returncode != 0:
        fail(f"{' '.join(map(str, command))}: {done.stderr[-600:]}")
    return done.stdout


def runtimes(size, directory):
    """The commands that are recorded together."""
    commands = []
    javac, node = shutil.which("javac"), shutil.which("node")
    if javac and shutil.which("java"):
        classes = directory / "classes"
        if not classes.exists():
            sources = directory / "java"
            sources.mkdir(exist_ok=True)
            naming_workload.java(size.classes, size.methods, sources)
            run([javac, "-d", classes, *sorted(sources.glob("*.java"))])
        commands.append(f"java -XX:+UnlockDiagnosticVMOptions -XX:+PreserveFramePointer -XX:+DumpPerfMapAtExit "
                        f"-XX:+DebugNonSafepoints -Xss8m -Xmx256m -cp {classes} bench.Main {size.seconds} "
                        f"{size.threads} {size.shallow} {size.deep}")
    else:
        print("note: no java and javac in PATH: no JVM in the input")
    if node:
        script = directory / "main.js"
        naming_workload.javascript(size.classes * size.methods, script)
        commands.append("node --perf-prof --perf-basic-prof --interpreted-frames-native-stack "
                        f"{script} {size.seconds} {size.shallow} {size.deep}")
    else:
        print("note: no node in PATH: no Node in the input")
    if not commands:
        skip("neither java nor node in PATH")
    return commands


def record(size, directory):
    data = directory / "perf.data"
    if not data.exists():
        script = directory / "run.sh"
        lines = [f"cd {directory}", *(f"{command} > /dev/null & pids=\"$pids $!\"" for command in
                                      runtimes(size, directory)), f"echo $pids > {directory}/pids", "wait"]
        script.write_text("\n".join(lines) + "\n")
        run(["perf", "record", "-q", "-k", "mono", "-g", "-e", "cpu-clock", "-F", size.frequency, "-m", size.pages,
             "-o", directory / "part.data", "--", "bash", script])
        for pid in (directory / "pids").read_text().split():
            written = pathlib.Path(f"/tmp/perf-{pid}.map")
            if written.exists():
                shutil.copy2(written, directory)
        (directory / "part.data").rename(data)
    # perf looks for maps in /tmp alone.
    maps = sorted(directory.glob("perf-*.map"))
    for path in maps:
        shutil.copy2(path, "/tmp")
    lines = sum(path.read_bytes().count(b"\n") for path in maps)
    print(f"input: {data}, {data.stat().st_size / 1e6:.1f} MB, {lines} lines in {len(maps)} perf maps")
    return data, [pathlib.Path("/tmp") / path.name for path in maps]


def small_recording(directory):
    """Of a process with code in memory of its own: (data, pid, where that code begins)."""
    program = os.path.join(PROGRAMS, "truth_jit")
    if not os.access(program, os.X_OK):
        skip(f"no program at {program}")
    data = directory / "jit.data"
    told = run(["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", 2000, "-o", data, "--", program,
                "--functions", 100])
    pid = int(run(["perf", "script", "-i", data, "-F", "pid"]).split()[-1])
    return data, pid, int(re.search(r"^arena (\S+)", told, re.M)[1], 16)


def write_map(path, lines, address):
    rng = random.Random(1)
    with open(path, "w", encoding="utf-8") as file:
        for i in range(lines):
            size = rng.randrange(64, 1024) & ~15
            file.write(f"{address:x} {size:x} Lorg/example/part{i % 97}/Service{i % 9973};::handle{i}\n")
            address += size


def write_dump(path, pid, loads):
    """LOADs of 512 bytes, each with 20 line entries before it."""
    now = 1_000_000  # long before the recording
    code = (b"\xb9\xe8\x03\0\0\xff\xc9\x75\xfc\xc3" + b"\x90" * 512)[:512]
    with open(path, "wb") as file:
        file.write(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, pid, now, 0))
        for i in range(loads):
            address = 0x100000000000 + i * 6144
            source = b"/src/org/example/Service%d.java\0" % (i % 4000)
            body = struct.pack("<QQ", address, 20) + b"".join(
                struct.pack("<Qii", address + k * 25, 10 + k, 0) + source for k in range(20))
            file.write(struct.pack("<IIQ", 2, 16 + len(body), now + 2 * i) + body)
            body = (struct.pack("<IIQQQQ", pid, pid, address, address, 512, i)
                    + b"Lorg/example/part%d/Service%d;::handle%d\0" % (i % 97, i % 9973, i) + code)
            file.write(struct.pack("<IIQ", 0, 16 + len(body), now + 2 * i + 1) + body)


# --- what is compared ------------------------------------------------------------------------------------

def stackcollapse():
    places = [os.environ.get("FLAMEGRAPH", ""), *os.environ.get("PATH", "").split(":"), "/usr/share/flamegraph"]
    for place in filter(None, places):
        path = os.path.join(place, "stackcollapse-perf.pl")
        if os.path.isfile(path) and shutil.which("perl"):
            return ["perl", path]
    return None


def lines_of(command):
    """One at a time: what is held here would count as the memory of what is run later."""
    process = subprocess.Popen([str(word) for word in command], env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        yield from process.stdout
    if process.returncode != 0:
        fail(f"{' '.join(map(str, command))}: status {process.returncode}")


def count_samples(data):
    """Both tools have to tell of all samples, or the times mean nothing."""
    theirs = sum(1 for _ in lines_of(["perf", "script", "-i", data, "-G", "-F", "tid"]))
    ours = sum(1 for line in lines_of([JITSCOPE, "script", "-i", data]) if line[:1] not in b"\t\n")
    stacks = folded = 0
    for line in lines_of([JITSCOPE, "flame", "-i", data, "-o", "-.folded"]):
        stacks += 1
        folded += int(line[line.rindex(b" "):])
    print(f"{theirs} samples; {stacks} distinct stacks", flush=True)
    if not theirs == ours == folded or theirs == 0:
        fail(f"perf tells of {theirs} samples, jitscope of {ours} and, folded, of {folded}")


def compare_recording(table, data):
    """With -j 1 what the work itself costs, without it what it costs on all cores."""
    perf_script = ["perf", "script", "-i", data]
    rows = [
        ("script", [perf_script], ["script"], 20),
        ("report, flat", [["perf", "report", "--stdio", "-g", "none", "--no-children", "-i", data]],
         ["report", "--no-children"], 6),
        ("report, with callers",
         [["perf", "report", "--sort", "sym", "--children", "-g", "none", "--stdio", "-i", data]], ["report"], 50),
    ]
    fold = ["flame", "-o", "-.folded"]
    collapse = stackcollapse()
    if collapse:
        rows.append(("folded / script|stackcollapse-perf", [perf_script, collapse], fold, 200))
    else:
        print("note: no stackcollapse-perf.pl (PATH, FLAMEGRAPH): folded stacks against perf script alone")
        rows.append(("folded / perf script alone", [perf_script], fold, 16))
    for what, perf, words, wanted in rows:
        command = [JITSCOPE, *words, "-i", data]
        table.compare(what, perf, [command], wanted)
        table.alone(f"  {what}, -j 1", [*command, "-j1"], None)


def compare_map(table, directory, lines):
    data, pid, address = small_recording(directory)
    path = pathlib.Path(f"/tmp/perf-{pid}.map")
    try:
        write_map(path, lines, address)
        written = data.stat().st_mtime
        os.utime(path, (written, written))
        table.compare(f"a map of {lines:,} lines",
                      [["perf", "report", "--stdio", "-g", "none", "--no-children", "-i", data]],
                      [[JITSCOPE, "report", "--no-children", "-i", data]], 5, memory=0.5)
        if "handle" not in run([JITSCOPE, "report", "--no-children", "-i", data]):
            fail("jitscope did not use the map")
    finally:
        path.unlink(missing_ok=True)


def compare_dump(table, directory, loads, inject):
    data, pid, _ = small_recording(directory)
    dump = directory / f"jit-{pid}.dump"
    write_dump(dump, pid, loads)
    table.alone(f"a jitdump of {loads:,} loads, {dump.stat().st_size / 1e6:.0f} MB: report",
                [JITSCOPE, "report", "--no-children", "-i", data, "--jitdump", dump],
                1.5 if loads == 100_000 else None)
    if inject:
        print("note: perf inject has no way to be given a dump: its cost is of the recording's own jitdump")
        whole = directory / "perf.data"
        cost = cost_of(["perf", "inject", "--jit", "-i", whole, "-o", directory / "injected.data"])
        print(f"{'perf inject --jit of the whole recording':52}{cost.cpu:8.3f} s {cost.mib:4.0f} MiB", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="medium")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--directory", type=pathlib.Path, help="kept; else a temporary one")
    parser.add_argument("--inject", action="store_true", help="also perf inject --jit (slow, many files)")
    words = parser.parse_args()
    for tool in ("perf", JITSCOPE):
        if not shutil.which(tool):
            skip(f"no {tool}")
    size = SIZES[words.size]
    with tempfile.TemporaryDirectory(prefix="naming-", dir="/var/tmp") as temporary:
        directory = (words.directory or pathlib.Path(temporary) / "input").resolve()
        directory.mkdir(parents=True, exist_ok=True)
        environment["HOME"] = temporary  # perf keeps copies of what it saw below it
        maps = []
        try:
            data, maps = record(size, directory)
            count_samples(data)
            table = Table(words.rounds)
            compare_recording(table, data)
            compare_map(table, directory, size.map_lines)
            compare_dump(table, directory, size.loads, words.inject)
        finally:
            for path in maps:
                path.unlink(missing_ok=True)
        if words.size == "medium":
            print(f"{table.missed} of what was wanted missed" if table.missed else "all that was wanted was reached")
        else:
            print(f"the wanted ratios are for --size medium; this is {words.size}")


if __name__ == "__main__":
    main()
