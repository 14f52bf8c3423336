"""`jitscope record`: perf reads the recording, nothing is missing in it, and the folder beside it names the
JIT code of runtimes that were started without any flag, also when they are gone.

The jitdump files are read here by a parser of its own (the format's, and jitscope's SINCE, GONE and SCOPES)."""

import collections
import os
import pathlib
import re
import shutil
import signal
import stat
import struct
import subprocess

import harness
from harness import Run, Skip, check, equal, jitscope, wait_for
from lines import line_of, start_lines
from runtimes import java_command, jdks, node, start_java, start_node

LOAD, DEBUG, CLOSE, UNWIND, SINCE, GONE, SCOPES = 0, 2, 3, 4, 0x6A730001, 0x6A730002, 0x6A730003
SECONDS = "2"
Body = collections.namedtuple("Body", "kind time since address size name code")


def perf(*words):
    if not shutil.which("perf"):
        raise Skip("no perf in PATH")
    done = subprocess.run(["perf", *map(str, words)], capture_output=True, text=True, errors="replace")
    equal(done.returncode, 0, f"perf {' '.join(map(str, words))}: {done.stderr[-500:]}")
    return done.stdout


def read_dump(path, growing=False):
    """Every record of a dump; fails for anything that a strict reader would not take, but for a cut at
    the end of one that grows, or whose writer was killed."""
    data = path.read_bytes()
    magic, version, header, machine, _, pid, _, flags = struct.unpack_from("<IIIIIIQQ", data)
    equal((magic, version, header, machine, flags), (0x4A695444, 1, 40, 62, 0), f"header of {path}")
    bodies, at, since = [], header, None
    while at < len(data):
        if growing and (at + 16 > len(data) or at + struct.unpack_from("<I", data, at + 4)[0] > len(data)):
            break
        kind, size, time = struct.unpack_from("<IIQ", data, at)
        check(size >= 16 and at + size <= len(data), f"{path}: record of {size} bytes at {at}")
        if kind == LOAD:
            owner, _, vma, address, length, _ = struct.unpack_from("<IIQQQQ", data, at + 16)
            end = data.index(b"\0", at + 56)
            equal((owner, vma), (pid, address), f"{path}: a LOAD")
            equal(end + 1 + length, at + size, f"{path}: the code of a LOAD ends with it")
            bodies.append(Body("load", time, time if since is None else since, address, length,
                               data[at + 56:end].decode(), data[end + 1:at + size]))
            since = None
        elif kind == SINCE:
            since = struct.unpack_from("<Q", data, at + 24)[0]
        elif kind == GONE:
            bodies.append(Body("gone", time, time, *struct.unpack_from("<QQ", data, at + 16), "", b""))
        elif kind in (DEBUG, UNWIND, SCOPES):
            pass  # of the next LOAD
        else:
            equal(kind, CLOSE, f"{path}: kind of record")
            bodies.append(Body("close", time, time, 0, 0, "", b""))
        at += size
    return pid, bodies


def dumps(recording, growing=False):
    found = {}
    folder = pathlib.Path(f"{recording}.jit")
    if not folder.exists():
        return found
    equal(stat.S_IMODE(folder.stat().st_mode), 0o700, "mode of the folder")
    for path in folder.iterdir():
        match = re.fullmatch(r"jit-(\d+)-(\d+)\.dump", path.name)
        check(match or growing, f"{path} in the folder")
        if not match:
            continue
        equal(stat.S_IMODE(path.stat().st_mode), 0o600, f"mode of {path}")
        pid, bodies = read_dump(path, growing)
        equal(pid, int(match[1]), f"pid of {path}")
        found[pid] = bodies
    return found


def name_at(bodies, address, time):
    """The last body that may have lain there then. What came after the last look nobody can know: ""."""
    found = None
    for body in bodies:
        if body.kind == "close" and found is None and time > body.time:
            found = ""
        if not body.address <= address < body.address + body.size:
            continue
        if body.kind == "load" and body.since <= time + 2_000_000:
            found = body.name
        elif body.kind == "gone" and body.time <= time:
            found = None
    return found


Sample = collections.namedtuple("Sample", "comm pid time address symbol dso")
HEAD = re.compile(r"^(.*\S)\s+(\d+)\s+(\d+)\.(\d{9}):\s*$")
FRAME = re.compile(r"^\s*([0-9a-f]+) (.*) \((.*)\)$")


def samples(recording):
    """Leaf frames as perf script gives them."""
    out, head = [], None
    for line in perf("script", "-i", recording, "--ns", "-F", "comm,pid,time,ip,sym,dso").splitlines():
        match = HEAD.match(line)
        if match:
            if head:  # a sample without a frame
                out.append(Sample(head[1].strip(), int(head[2]), int(head[3] + head[4]), 0, "", ""))
            head = match
        elif head and (frame := FRAME.match(line)):
            out.append(Sample(head[1].strip(), int(head[2]), int(head[3] + head[4]), int(frame[1], 16),
                              frame[2].split("+")[0], frame[3]))
            head = None
    if head:
        out.append(Sample(head[1].strip(), int(head[2]), int(head[3] + head[4]), 0, "", ""))
    return out


def summary(run):
    """(samples, lost) as record printed them."""
    match = re.search(r"^(\d+) samples? in [\d.]+ s, (none|\d+)", run.error, re.M)
    check(match, f"no summary in {run.story()}")
    return int(match[1]), 0 if match[2] == "none" else int(match[2])


def check_perf(recording, run):
    """perf takes the file, and finds as many samples as were printed."""
    printed, lost = summary(run)
    equal(lost, 0, "lost records")
    found = samples(recording)
    equal(len(found), printed, "samples")
    report = perf("report", "--stdio", "-i", recording)
    match = re.search(r"# Samples: (\S+)\s+of event '(cpu-clock|cycles)", report)
    check(match, report[:600])
    header = perf("report", "--header-only", "-i", recording)
    for text in ("clockid: monotonic", "# hostname", "# cmdline", "# nrcpus online", "event : name ="):
        check(text in header, f"no {text!r} in {header}")
    return found


def of_jit(found):
    """perf leaves what it cannot name to the map of the process, or to nobody."""
    return [each for each in found if each.dso.startswith(("[JIT]", "/tmp/perf-", "//anon"))]


def check_named(recording, found, killed=False, least=0.99, enough=20):
    """JIT samples up to the last look have names."""
    bodies = dumps(recording, killed)
    jit = of_jit(found)
    check(len(jit) >= enough, f"only {len(jit)} JIT samples of {len(found)}")
    names = [name_at(bodies.get(each.pid, ()), each.address, each.time) for each in jit]
    missing = [each for each, name in zip(jit, names) if name is None]
    check(len(missing) <= (1 - least) * len(jit), f"{len(missing)} of {len(jit)} unnamed: {missing[:5]}")
    late = names.count("")
    check(late <= 0.2 * len(jit), f"{late} of {len(jit)} ran what was compiled after the last look")
    print(f"     {len(jit) - len(missing) - late} of {len(jit)} JIT samples named, {late} came after the last look",
          flush=True)
    return [name for name in names if name]


def test_java_that_is_gone():
    for major, java in jdks().items():
        out = harness.scratch() / "perf.data"
        with start_java(java, "FiftyMain") as target:
            target.go("go 20000")
            target.ask("run")
            run = jitscope("record", "-p", target.pid, "--duration", SECONDS, "-o", out)
            target.check_sound()
            equal(target.ask("report").split()[2:], ["errors", "0"], "the target's checks")
        found = check_perf(out, run)
        names = check_named(out, found)
        check(any(re.fullmatch(r"Fifty\S*\(.*\) \[tier=c2\]", name) for name in names), f"JDK {major}: {set(names)}")
        equal({each.pid for each in found}, {target.pid}, "processes")
        check("java" in {each.comm for each in found} or any("Thread" in each.comm for each in found),
              f"comm: {collections.Counter(each.comm for each in found)}")
        check("following" in run.error, run.error)
        loads = [body for body in dumps(out)[target.pid] if body.kind == "load"]
        check(sum(any(body.code) for body in loads) > len(loads) * 0.9, "most bodies carry their code")


def test_java_under_a_command():
    for java in jdks().values():
        out = harness.scratch() / "perf.data"
        # Behind a shell: the JVM is not the process that was started.
        command = ["sh", "-c", '"$@"; exit 7', "sh", *java_command(java, "FiftyMain")]
        run = Run("record", "-o", out, "--", *command)
        run.expect("ready ")
        for _ in range(3):
            run.send("go 100000")
            run.expect("go ", 120)
        run.process.stdin.close()
        run.result()
        check("ended with status 7" in run.error, run.error)
        found = check_perf(out, run)
        check_named(out, found)
        check({"sh", "java"} <= {each.comm for each in found} | {"sh"}, "comm")


def test_java_that_frees_code():
    for java in jdks().values():
        out = harness.scratch() / "perf.data"
        with start_java(java, "Churn", others=("ChurnUnit", "ChurnShape"),
                        flags=["-Xss512k", "-XX:+UseSerialGC"]) as target:
            run = Run("record", "-p", target.pid, "-o", out)
            def gone():
                return any(body.kind == "gone" for bodies in dumps(out, growing=True).values() for body in bodies)
            wait_for(gone, "a body to be seen to go", 120)
            run.interrupt()
            run.result()
            target.check_sound()
        bodies = dumps(out)[target.pid]
        alive = {}
        for body in bodies:
            if body.kind == "load":
                alive[body.address] = body
            elif body.kind == "gone":
                check(body.address in alive, f"{body} is gone, and was never there")
                equal(alive.pop(body.address).size, body.size, "size of what is gone")


def test_node_with_a_map():
    out = harness.scratch() / "perf.data"
    with start_node("--perf-basic-prof", "--no-turbo-inlining") as target:
        target.go("go 100000")
        target.send("go 2000000000")
        run = jitscope("record", "-p", target.pid, "--duration", SECONDS, "-o", out)
        check(target.running(), target.story())
    names = check_named(out, check_perf(out, run))
    check(any(re.fullmatch(r"(JS|LazyCompile):\*hot .*truth.js:\d+(:\d+)? \[tier=turbofan\]", name) for name in names) or
          any("drive" in name for name in names), f"{set(names)}")


def test_node_with_its_own_dump():
    out = harness.scratch() / "perf.data"
    with start_node("--perf-prof") as target:
        run = jitscope("record", "-p", target.pid, "--duration", "0.5", "-o", out)
        check(re.search(rf"process {target.pid} \(\S+\): writes a jitdump itself: .*/jit-{target.pid}\.dump",
                        run.error), run.error)
        equal(dumps(out), {}, "files of our own")


def test_killed_recorder():
    for java in jdks().values():
        out = harness.scratch() / "perf.data"
        with start_java(java, "FiftyMain") as target:
            target.go("go 20000")
            target.ask("run")
            run = Run("record", "-p", target.pid, "-o", out)
            wait_for(lambda: dumps(out, growing=True) and out.stat().st_size > 100_000, "a recording to grow")
            run.signal(signal.SIGKILL)
            run.finish()
            target.check_sound()
            equal(target.ask("report").split()[2:], ["errors", "0"], "the target's checks")
            # A second one begins where the first was killed; what that left is kept.
            again = jitscope("record", "-p", target.pid, "--duration", "0.5", "-o", out)
            summary(again)
        check(pathlib.Path(f"{out}.old").exists(), "the killed recording is kept")
        check_named(f"{out}.old", samples(f"{out}.old"), killed=True)


def test_names_of_kernel_and_libraries():
    out = harness.scratch() / "perf.data"
    script = "import os\nx = b'a' * 30_000_000\nfor _ in range(60): x.find(b'b'); os.urandom(1 << 20)"
    run = jitscope("record", "-o", out, "--", "python3", "-c", script)
    found = check_perf(out, run)
    # The shim of a version manager may run before it.
    python = [each for each in found if each.comm.startswith("python")]
    check(len(python) > 20, f"{collections.Counter(each.comm for each in found)}")
    for what, dso in (("kernel", "[kernel.kallsyms]"), ("libc", "libc.so.6")):
        those = [each for each in python if each.dso.endswith(dso)]
        if what == "kernel" and "kernel code is not sampled" in run.error:
            continue
        check(those, f"no samples in {what}: {collections.Counter(each.dso for each in python)}")
        named = [each for each in those if each.symbol != "[unknown]"]
        check(len(named) >= 0.9 * len(those), f"{what}: {len(named)} of {len(those)} named")
    listed = perf("buildid-list", "-i", out)
    check(re.search(r"^[0-9a-f]{40} /\S*libc\.so\.6$", listed, re.M), listed[:500])


def test_whole_machine():
    java = max(jdks().items())[1]
    out = harness.scratch() / "perf.data"
    with start_java(java, "FiftyMain") as target:
        target.go("go 20000")
        target.ask("run")
        run = Run("record", "-a", "--duration", SECONDS, "-o", out)
        if run.finish() == 3 and "cannot sample" in run.error:
            raise Skip("sampling the whole machine is not permitted")
        run.result()
    found = check_perf(out, run)
    check(len({each.pid for each in found}) > 1, "more than one process")
    check_named(out, [each for each in found if each.pid == target.pid])


def test_options():
    out = harness.scratch() / "perf.data"
    run = jitscope("record", "-F", "300", "-e", "cpu-clock", "--no-stacks", "--user-regs", "--no-follow", "-o", out,
                   "--", "python3", "-c", "sum(range(10_000_000))")
    check(summary(run)[0] > 10, run.error)
    header = perf("report", "--header-only", "-i", out)
    check("= 300" in header and "REGS_USER" in header and "CALLCHAIN" not in header, header)
    check(perf("script", "-i", out, "-F", "ip,uregs").count("AX:0x") > 10, "registers in samples")
    equal(pathlib.Path(f"{out}.jit").exists(), False, "a folder")


def test_what_cannot_be_recorded():
    out = harness.scratch() / "perf.data"
    for words, status in ((["-p", "999999999", "-o", out], 1), (["-o", out], 2), (["-a", "-p", "1", "-o", out], 2),
                          (["-o", "/dev/null", "--", "true"], 2), (["-o", out, "--", "/nonexistent"], 2),
                          (["-F", "0", "--", "true"], 2), (["--duration", "-1", "--", "true"], 2)):
        run = jitscope("record", *words, status=status)
        check(run.error or run.out, "a message")
    check(os.path.exists("/dev/null"), "/dev/null")


def test_inlined():
    """Methods that C2 inlined have frames of their own in profiles, with their lines."""
    for major, java in jdks().items():
        folder = harness.scratch()
        with start_lines(java, "-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints",
                         "-XX:+PreserveFramePointer") as target:
            target.send("run 2500")
            jitscope("record", "-p", target.pid, "--duration", "1.5", "-o", folder / "perf.data")
            target.expect("run ")
        jitscope("flame", "-i", folder / "perf.data", "-o", folder / "out.folded")
        leaves = collections.Counter()
        for line in (folder / "out.folded").read_text().splitlines():
            stack, _, count = line.rpartition(" ")
            found = re.search(r"Lines\.nest\(int\)_\[j\];Lines\.both\(int\)_\[i\];(Lines\.\w+)\(int\)(_\[[ij]\])",
                              stack)
            if found:
                leaves[found[1] + found[2]] += int(count)
        whole = sum(leaves.values())
        check(whole > 100, f"JDK {major}: samples below the inlined `both`: {leaves}")
        equal(set(leaves), {"Lines.near_[i]", "Lines.far_[j]"}, f"JDK {major}: what `both` ran")
        check(min(leaves.values()) > whole / 5, f"JDK {major}: both took time: {leaves}")
        lines = set(re.findall(r"Lines\.near\(int\) \(inlined\)\n\s+Lines\.java:(\d+)",
                               "\n".join(jitscope("script", "-i", folder / "perf.data", "--lines").out)))
        equal(lines, {str(line_of("near"))}, f"JDK {major}: lines of an inlined method")
        bare = jitscope("script", "-i", folder / "perf.data", "--no-inline").out
        check(not any("(inlined)" in line for line in bare), "--no-inline")


harness.main(test_java_that_is_gone, test_java_under_a_command, test_java_that_frees_code, test_node_with_a_map,
             test_node_with_its_own_dump, test_killed_recorder, test_names_of_kernel_and_libraries,
             test_whole_machine, test_options, test_what_cannot_be_recorded, test_inlined)
