"""What users of perf, bpftrace, BCC, jcmd and async-profiler type: it works, or the message says what to write."""

import json
import os
import re
import shutil

import harness
from harness import Child, Run, bodies, check, equal, jitscope, scratch, wait_for
from runtimes import PageTarget, jdks, jit_page, start_java, warm

FIXED = "Truth.fixed(int)"
SIX = "Truth.six(int,long,short,byte,char,boolean)"
APPLY = {f"Truth$Op{letter}.apply(int)" for letter in "ABC"}


def start(**options):
    java = max(jdks().items())[1]
    target = start_java(java, "TruthMain", dontinline="Truth*::*", **options)
    warm(target, [FIXED, SIX, *APPLY], "c2")
    return target


def test_patterns():
    one = {FIXED: ["Truth.fixed", "Truth::fixed", "Truth#fixed", "Truth/fixed", "LTruth;::fixed", "fixed",
                   "Truth.fixed(I)I", "int Truth.fixed(int)", "static int Truth.fixed(int)", "Truth.f?xed",
                   "Truth.[a-f]ixed", "/^Truth\\.fixed\\(/", "Tru*.fixed"],
           SIX: ["six", "Truth.six(IJSBCZ)J", "long Truth.six(int, long, short, byte, char, boolean)"],
           "Truth$OpA.apply(int)": ["OpA.apply", "Truth$OpA.apply", "Truth$OpA.ap*"]}
    with start() as target:
        for method, patterns in one.items():
            for pattern in patterns:
                equal({body["method"] for body in bodies(target, pattern)}, {method}, pattern)
        for pattern in ("app*", "/OpA|OpB|OpC/", "*.apply", "Op[A-C].apply"):
            found = {body["method"] for body in bodies(target, pattern)}
            check(APPLY <= found and all("apply" in each or "Op" in each for each in found), f"{pattern}: {found}")
        for pattern in ("Truth", "LTruth;"):
            run = jitscope("methods", "-p", target.pid, "--json", pattern)
            equal({body["method"] for body in run.objects("body")}, {FIXED, SIX}, pattern)
            check("all its methods" in run.error, f"it is said: {run.error}")
        run = jitscope("methods", "-p", target.pid, "apply", status=2)
        check("Truth$OpA.apply" in run.error, f"candidates: {run.error}")
        run = jitscope("methods", "-p", target.pid, "/(/", status=2)
        check("regular expression" in run.error, run.error)
        # The same in the other verbs.
        count = Run("trace", "-p", target.pid, "--json", "-c", "fixed", "OpA.apply", "long Truth.six(*)")
        count.started()
        target.go("go 1000")
        count.interrupt()
        calls = {name: each["calls"] for name, each in count.result().summaries().items()}
        equal(calls, {FIXED: 1000, SIX: 1000, "Truth$OpA.apply(int)": 1000}, "counted")
        check("no method matched" not in count.error, count.error)
        expose = Run("expose", "-p", target.pid, "--json", "fixed")
        equal(json.loads(expose.expect('{"type":"exposed"'))["method"], FIXED, "exposed")
        expose.interrupt()
        expose.result()


def test_process():
    with start() as target:
        run = jitscope("methods", target.pid, "--json", FIXED)
        equal({body["method"] for body in run.objects("body")}, {FIXED}, "a pid alone")
        jitscope("map", target.pid, "-o", "-")
        jitscope("doctor", str(target.pid))
        run = jitscope("trace", "-p", "nobody-is-called-so", "f", status=2)
        check("no process is called" in run.error, run.error)
        run = jitscope("trace", "f", status=2)
        check("-p PID" in run.error, run.error)
        with start() as other:
            run = jitscope("methods", "-p", "TruthMain", status=2)
            check(str(target.pid) in run.error and str(other.pid) in run.error, f"candidates: {run.error}")
    # Other tests' processes have the other names.
    name = f"habits-{os.getpid()}"
    binary = shutil.copy(jit_page(), scratch() / name)
    with PageTarget([binary]) as target:
        target.write_map()
        run = jitscope("methods", "-p", name, "--json", "page_f0")
        equal({body["method"] for body in run.objects("body")}, {"page_f0"}, "by its comm")


def test_durations():
    with start() as target:
        for text in ("300ms", "0.2", "0.2s"):
            jitscope("trace", "-c", "-p", target.pid, "-d", text, FIXED, limit=30)
        for text in ("10x", "0", "-1s", "ms"):
            run = jitscope("trace", "-p", target.pid, f"-d={text}", FIXED, status=2)
            check("500ms" in run.error, run.error)


def flooded(target, *words):
    """The lines of a trace while a method is called 200,000 times at once, and its summary."""
    run = Run("trace", "-p", target.pid, "--json", *words, FIXED)
    run.started()
    target.go("only-fixed 200000")
    run.interrupt()
    run.result()
    summary = run.summaries()[FIXED]
    lines = len(run.objects("call"))
    equal(summary["calls"], 200_000, f"{words}: calls")
    equal((summary["shown"], summary["shown"] + summary["not_shown"] + summary["lost"]), (lines, 200_000),
          f"{words}: shown, and all together")
    return lines, summary


def test_limit():
    with start() as target:
        begin = os.times().elapsed
        lines, _ = flooded(target)
        seconds = os.times().elapsed - begin
        check(1000 <= lines <= 1000 * (seconds + 2), f"{lines} lines in {seconds:.1f} s")
        lines, _ = flooded(target, "--limit", "7/s")
        check(7 <= lines <= 7 * (seconds * 5 + 2), f"{lines} lines")
        lines, summary = flooded(target, "--limit", "0")
        equal(lines + summary["lost"], 200_000, "without a limit")
        lines, _ = flooded(target, "--every", "1000", "--limit", "0")
        equal(lines, 200, "every 1000th")
        run = Run("trace", "-p", target.pid, "--json", "-n", "5", FIXED)
        run.started()
        target.go("only-fixed 1000")
        equal(len(run.result().objects("call")), 5, "-n")
        target.check_sound()


def silence(target, pattern):
    run = Run("trace", "-p", target.pid, pattern)
    wait_for(lambda: any("no call has come" in line for line in list(run.err)) or not run.running(), "it is said")
    wait_for(lambda: any(line.startswith("note: Truth") for line in list(run.err)) or not run.running(), "why")
    run.interrupt()
    run.result()
    return run.error


def test_silence():
    with start() as target:
        check("nobody has called it yet" in silence(target, "Truth.fixed"), "compiled")
    java = max(jdks().items())[1]
    flags = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints"]
    with start_java(java, "TruthMain", flags=flags) as target:
        target.go("go 1")  # loads the class
        check("not compiled yet" in silence(target, "Truth.fixed"), "interpreted")
        host = "TruthMain.callVirtual(Truth$Base,int,int)"
        warm(target, [host], "c2")
        error = silence(target, "Truth$One.virtual")
        check("inlined into" in error and host in error, f"inlined: {error}")


def test_hints():
    for words, part in ((["trace", "-t", "f"], "begins with the time"), (["record", "-c", "1000"], "-F"),
                        (["record", "--call-graph=dwarf", "true"], "--no-stacks"),
                        (["script", "-D"], "perf script -D"), (["script", "-S", "main"], "--callers"),
                        (["report", "-D"], "perf script -D"), (["report", "-p", "x"], "--pid PID"), (["flame", "--collapsed"], ".folded")):
        check(part in jitscope(*words, status=2).error, f"{words}: the hint")
    for ending, instead in ((".svg", "x.html"), (".jfr", "x.firefox.json"), (".otlp", "x.pb.gz"),
                            (".collapsed", "x.folded"), (".json", "x.speedscope.json"), (".foo", ".speedscope.json")):
        run = jitscope("flame", "-o", f"out{ending}", status=2)
        check(instead in run.error and ".folded" in run.error, f"{ending}: {run.error}")


def test_record_while_a_command_runs():
    with start() as target:
        place = scratch()
        data = place / "perf.data"
        run = Run("record", "-p", target.pid, "-o", data, "--", "sh", "-c", f"echo $PPID; touch {place}/began; "
                  f"while [ ! -e {place}/end ]; do sleep 0.05; done; exit 3")
        wait_for((place / "began").exists, run.story())
        while "samples" not in locals() or not samples:
            target.go("only-fixed 20000000")
            samples = os.path.getsize(data) > 20_000
        (place / "end").touch()
        run.result()
        check("status 3" in run.error, f"the command's status: {run.error}")
        pids = {line.split()[1] for line in jitscope("script", "-i", data).out if re.match(r"\S.* \d+ ", line)}
        text = "\n".join(jitscope("report", "-i", data, "-s", "process", "-n", "--stdio").out)
        check(str(target.pid) in text or "java" in text, f"the process alone: {text} {pids}")
        check("sh" not in {line.split()[-1] for line in text.splitlines() if line.split()}, f"not the command: {text}")
        run = jitscope("report", "-i", data, "--callers", "fixed")
        check("Truth.fixed" in "\n".join(run.out), "report takes the same patterns")
        if os.geteuid() == 0:
            jitscope("record", "-a", "-o", place / "all.data", "--", "true")


# Memory that code may run in, as a JIT has it.
CODE = "import ctypes, mmap; x = mmap.mmap(-1, 4096, prot=7); at = ctypes.addressof(ctypes.c_char.from_buffer(x)); "
ADDRESS = "{at:x}"


def test_removed_map():
    """A runtime goes on writing to a map that was removed; its names are still there."""
    pid_and_wait = "import os, sys; m = open(f'/tmp/perf-{os.getpid()}.map', 'w'); " \
        f"m.write(f'{ADDRESS} 10 removed_but_open\\n'); m.flush(); os.remove(m.name); print('ready', flush=True); " \
        "sys.stdin.read()"
    with Child(["python3", "-c", CODE + pid_and_wait]) as target:
        target.expect("ready")
        run = jitscope("methods", "-p", target.pid, "--json")
        equal({body["method"] for body in run.objects("body")}, {"removed_but_open"}, "names")
        if os.geteuid() == 0:
            os.chown(f"/proc/{target.pid}/fd/3", 65534, 65534)
            run = jitscope("methods", "-p", target.pid, status=3)
            check("belongs to user 65534" in run.error, f"the checks of other maps: {run.error}")


def test_foreign_machine():
    """A runtime under an emulator, as far as its mappings tell: named, and no probe is placed."""
    place = scratch()
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x03\x00\xb7\x00" + bytes(4076)
    (place / "libjvm.so").write_bytes(header)
    program = CODE + (f"import os, sys; f = open('{place}/libjvm.so', 'rb'); "
               "y = mmap.mmap(f.fileno(), 4096, prot=1); m = open(f'/tmp/perf-{os.getpid()}.map', 'w'); "
               f"m.write(f'{ADDRESS} 10 void T.f(int)\\n'); m.flush(); print('ready', flush=True); sys.stdin.read(); os.remove(m.name)")
    with Child(["python3", "-c", program]) as target:
        target.expect("ready")
        run = jitscope("methods", "-p", target.pid, "--json")
        equal({body["method"] for body in run.objects("body")}, {"T.f(int)"}, "names")
        for words in (["trace", "-c"], ["expose"]):
            run = jitscope(*words, "-p", target.pid, "T.f", status=3)
            check("aarch64" in run.error, f"{words}: {run.error}")
        target.process.stdin.close()
        target.finish()


harness.main(test_patterns, test_process, test_durations, test_limit, test_silence, test_hints,
             test_record_while_a_command_runs, test_removed_map, test_foreign_machine)
