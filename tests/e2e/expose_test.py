"""Methods that are exposed can be traced by bpftrace, perf and ftrace with the command lines that
expose prints: each counts exactly what the program called, and sees the arguments."""

import json
import os
import pathlib
import re
import select
import shutil
import signal
import subprocess

import harness
from harness import Child, Run, Skip, bodies, check, equal, jitscope, scratch, wait_for
from runtimes import jdks, start_java, warm

FIXED = "Truth.fixed(int)"
SIX = "Truth.six(int,long,short,byte,char,boolean)"
TRACING = pathlib.Path("/sys/kernel/tracing")


def need(tool):
    if not shutil.which(tool):
        raise Skip(f"no {tool} in PATH")


def expose(target, *patterns):
    run = Run("expose", "-p", target.pid, "--json", *patterns)
    for _ in [pattern for pattern in patterns if not pattern.startswith("--")]:
        run.expect('{"type":"exposed"')
    return run, {each["method"]: each for each in run.objects("exposed")}


def number(value):
    return value if isinstance(value, int) else int(value, 0)


def wait_for_uprobe(target, exposed):
    """Until the kernel has put its breakpoint on the probe point: the tool is attached."""
    name = os.path.basename(exposed["file"])
    for line in pathlib.Path(f"/proc/{target.pid}/maps").read_text().splitlines():
        fields = line.split(None, 5)
        if len(fields) == 6 and os.path.basename(fields[5]) == name and "x" in fields[1]:
            begin = int(fields[0].split("-")[0], 16)
            address = begin + number(exposed["offset"]) - int(fields[2], 16)
            wait_for(lambda: target.memory(address, 1) == b"\xcc", "the tool's uprobe", 30)
            return
    raise harness.Failure(f"{name} is not mapped in the target")


def on_each_jdk(function):
    for major, java in jdks().items():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            warm(target, [FIXED, SIX], "c2")
            entries = {body["entry"]: target.memory(int(body["entry"], 0), 16)
                       for body in bodies(target, FIXED, SIX) if body["state"] == "in_use"}
            run, exposed = expose(target, FIXED, SIX)
            function(f"JDK {major}", target, exposed)
            run.interrupt()
            run.result()
            target.check_sound()
            target.go("go 1000")
            for entry, before in entries.items():
                equal(target.memory(int(entry, 0), 16).hex(), before.hex(), f"bytes at {entry}")


def test_bpftrace():
    need("bpftrace")

    def count(what, target, exposed):
        # A quoted symbol, since a Java name has dots.
        check(f':"{exposed[FIXED]["symbol"]}"' in exposed[FIXED]["commands"]["bpftrace"], "quoted symbol")
        command = exposed[FIXED]["commands"]["bpftrace"]
        check(command.endswith("}'"), f"{what}: {command}")
        # It prints only when all its probes are attached.
        command = command[:-1] + " interval:ms:20 { printf(\"attached\\n\"); }'"
        with Child(["sh", "-c", command.replace("bpftrace ", "exec bpftrace -B line ", 1)]) as tool:
            tool.expect("attached")
            target.go("go 100000")
            tool.signal(signal.SIGINT)
            equal(tool.finish(), 0, f"{what}: bpftrace: {tool.story()}")
            counts = re.findall(r"@\w*: (\d+)", "\n".join(tool.out))
            equal(counts, ["100000"], f"{what}: bpftrace's count")
    on_each_jdk(count)


def bpftrace_counts(target, program, calls):
    """What a program of bpftrace's counts of so many calls, by its map's key."""
    with Child(["bpftrace", "-B", "line", "-e", program + ' interval:ms:20 { printf("attached\\n"); }']) as tool:
        tool.expect("attached")
        target.go(f"go {calls}")
        tool.signal(signal.SIGINT)
        equal(tool.finish(), 0, f"bpftrace: {tool.story()}")
        return {key: int(count) for key, count in re.findall(r"@\w*\[(.*)\]: (\d+)", "\n".join(tool.out))}


def test_wildcards_count_each_call_once():
    need("bpftrace")
    calls = 5000
    names = [f"OddNames.odd{k}(int)" for k in range(8)] + ["OddNames.odd0(long)", "OddNames.plain(int)"]
    for major, java in jdks().items():
        with start_java(java, "OddNames", dontinline="OddNames::*", flags=["-XX:-Inline"]) as target:
            warm(target, names, "c2")
            run, exposed = expose(target, *names)
            file = exposed[names[0]]["file"]
            symbols = {each["symbol"] for each in exposed.values()}
            equal(len(symbols), len(names), "distinct symbols")
            wanted = {f"uprobe:{file}:{symbol}": calls for symbol in symbols}
            for wildcard in ("*", "*OddNames*", "OddNames.*"):
                equal(bpftrace_counts(target, f"uprobe:{file}:{wildcard} {{ @[probe] = count(); }}", calls), wanted,
                      f"JDK {major}: {wildcard}")
            overloads = {probe: count for probe, count in wanted.items() if ".odd0" in probe}
            equal(bpftrace_counts(target, f"uprobe:{file}:*odd0* {{ @[probe] = count(); }}", calls), overloads,
                  f"JDK {major}: overloads")
            equal(len(overloads), 2, "overloads")
            if shutil.which("perf"):
                listed = shell(f"perf probe -x {file} -D '*'").splitlines()
                equal(len([line for line in listed if line.startswith("p:")]), len(names), f"perf probe: {listed}")
            run.interrupt()
            run.result()
            # For those who ask for them.
            run, exposed = expose(target, "--aliases", names[0])
            equal(exposed[names[0]]["alias"], names[0], "the alias")
            counts = bpftrace_counts(target, f"uprobe:{exposed[names[0]]['file']}:*odd* {{ @[probe] = count(); }}", 100)
            equal(sorted(counts.values()), [100, 100], "symbol and alias")
            run.interrupt()
            run.result()
            target.check_sound()


def shell(command, **options):
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, **options)
    equal(done.returncode, 0, f"{command}: {done.stderr}")
    return done.stdout + done.stderr


class PerfControl:
    """perf record's control channel: "ping" is answered when its events are enabled."""

    def __init__(self, directory):
        self.paths = [directory / name for name in ("control", "ack")]
        for path in self.paths:
            os.mkfifo(path)
        # Both ways, so that no open waits for the other side.
        self.control, self.ack = (os.open(path, os.O_RDWR | os.O_NONBLOCK) for path in self.paths)

    def options(self):
        return "--control fifo:" + ",".join(map(str, self.paths))

    def wait(self):
        os.write(self.control, b"ping\n")
        check(select.select([self.ack], [], [], 60 * harness.TIME_FACTOR)[0], "perf record does not answer")
        os.close(self.control)
        os.close(self.ack)


def test_perf():
    need("perf")

    def record(what, target, exposed):
        commands = exposed[FIXED]["commands"]
        where = scratch()
        added = shell(commands["perf_probe"], cwd=where)
        events = re.findall(r"^\s+(probe_\w+:\w+)\s", added, re.MULTILINE)
        check(events, f"{what}: perf probe named no event: {added}")
        try:
            control = PerfControl(where)
            record_command = f"exec {commands['perf_record']} -o perf.data {control.options()}"
            with Child(["sh", "-c", record_command], cwd=where) as tool:
                control.wait()
                target.go("go 2000")
                tool.signal(signal.SIGINT)
                tool.finish()
                samples = shell("perf script -i perf.data -F comm,tid,event,ip", cwd=where)
                count = sum(1 for line in samples.splitlines() if events[0] in line)
                equal(count, 2000, f"{what}: perf's samples; {tool.story()}")
        finally:
            for event in events:
                shell(f"perf probe -d {event}")
    on_each_jdk(record)


def tracefs():
    if not (TRACING / "uprobe_events").exists():
        subprocess.run(["mount", "-t", "tracefs", "tracefs", str(TRACING)], capture_output=True, check=False)
    if not os.access(TRACING / "uprobe_events", os.W_OK):
        raise Skip("no tracefs with uprobe_events that this user may write")


def test_tracefs_arguments():
    tracefs()
    calls = 500

    def fetch(what, target, exposed):
        command = exposed[SIX]["commands"]["tracefs"]
        group, event = re.search(r"p:([\w-]+)/(\w+)", command).groups()
        # All six registers, whatever the printed line fetches.
        registers = {"a1": "si", "a2": "dx", "a3": "cx", "a4": "r8", "a5": "r9", "a6": "di"}
        wanted = " ".join(f"{name}=%{register}:x64" for name, register in registers.items())
        shell(re.sub(r"(p:\S+ \S+)[^']*'", rf"\1 {wanted}'", command))
        instance = TRACING / "instances" / f"e2e-{target.pid}"
        instance.mkdir()
        enable = instance / "events" / group / event / "enable"
        try:
            enable.write_text("1")
            wait_for_uprobe(target, exposed[SIX])
            target.go(f"go {calls}")
            enable.write_text("0")
            lines = [line for line in (instance / "trace").read_text().splitlines() if f" {event}: (" in line]
        finally:
            if enable.exists():
                enable.write_text("0")
            instance.rmdir()
            shell(f"echo '-:{group}/{event}' >> {TRACING}/uprobe_events")
        seen = [[int(re.search(rf"{name}=(0x[0-9a-f]+)", line)[1], 16) for name in registers]
                for line in lines]
        # Ints have 32 bits; what the upper half of a register holds is not said.
        widths = [32, 64, 32, 32, 32, 32]
        passed = [[-i, i << 33, i, (i + 128) % 256 - 128, i, i & 1] for i in range(calls)]
        masked = [[value % (1 << width) for value, width in zip(each, widths)] for each in seen]
        equal(masked, [[value % (1 << width) for value, width in zip(each, widths)] for each in passed],
              f"{what}: arguments")
    on_each_jdk(fetch)


WITHOUT_TRACEFS = 'umount /sys/kernel/tracing 2>/dev/null; umount /sys/kernel/debug 2>/dev/null; exec "$@"'


def test_without_tracefs():
    """What bpftrace would say of it is a riddle: expose says it, with the command that helps."""
    need("bpftrace")
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("needs root and unshare")
    alone = ["unshare", "--mount", "sh", "-c", WITHOUT_TRACEFS, "sh"]
    if subprocess.run([*alone, "test", "-e", "/sys/kernel/tracing/uprobe_events"], check=False).returncode == 0:
        raise Skip("tracefs cannot be unmounted here")
    with start_java(max(jdks().items())[1], "TruthMain", dontinline="Truth*::*") as target:
        warm(target, [FIXED], "c2")
        with Child([*alone, harness.JITSCOPE, "expose", "-p", str(target.pid), "--json", FIXED]) as run:
            command = json.loads(run.expect('{"type":"exposed"'))["commands"]["bpftrace"]
            wait_for(lambda: any("Ctrl-C" in line for line in list(run.err)), f"expose: {run.story()}")
            note = next((line for line in run.err if "tracefs is not mounted" in line), None)
            check(note, f"no word about tracefs: {run.story()}")
            mount = re.search(r"as root: (mount .*)", note)[1]
            once = command[:-1] + " interval:ms:20 { exit(); }'"
            failed = subprocess.run([*alone, "sh", "-c", once], capture_output=True, text=True)
            done = subprocess.run([*alone, "sh", "-c", f"{mount} && {once}"], capture_output=True, text=True)
            print(f"note: without tracefs, bpftrace ends with {failed.returncode}")
            equal(done.returncode, 0, f"with what the note advises: {done.stderr}")
            check("failed to detach" not in done.stderr, f"with what the note advises: {done.stderr}")
            run.signal(signal.SIGINT)
            equal(run.finish(), 0, f"expose: {run.story()}")
        target.check_sound()


def test_keep_and_undo():
    for major, java in jdks().items():
        with start_java(java, "TruthMain", dontinline="Truth*::*") as target:
            warm(target, [FIXED], "c2")
            entry = next(int(body["entry"], 0) for body in bodies(target, FIXED)
                         if body["state"] == "in_use")
            before = target.memory(entry, 16)
            run = jitscope("expose", "-p", target.pid, "--keep", "--json", FIXED)
            exposed = run.objects("exposed")[0]
            check(os.path.exists(exposed["file"]), "the file stays")
            equal(target.memory(entry, 1), b"\xe9", f"JDK {major}: the entry is a jump")
            target.go("go 1000")
            jitscope("expose", "--undo", "-p", target.pid)
            equal(target.memory(entry, 16).hex(), before.hex(), f"JDK {major}: the entry's bytes")
            check(not os.path.exists(exposed["file"]), "the file is gone")
            target.go("go 1000")
            target.check_sound()
            jitscope("expose", "--undo", "-p", target.pid, status=(0, 1))


harness.main(test_bpftrace, test_wildcards_count_each_call_once, test_perf, test_tracefs_arguments, test_without_tracefs, test_keep_and_undo)
