"""`jitscope map`: perf maps of JVMs without a flag or an agent, with every option of perf-map-agent on a program
whose inlining and lines are known; jitdumps that perf takes, with unwind tables that lead through Java frames
without frame pointers."""

import os
import pathlib
import re
import signal
import subprocess

import harness
from harness import Run, bodies, check, equal, jitscope, scratch, wait_for
from lines import line_of, start_lines
from profiles import perf_script, run_perf
from runtimes import jdks, start_node

NEAR, FAR, BOTH, NEST = "near", "far", "both", "nest"
# Without it C2 tells only of safepoints, of which a counted loop has none.
EXACT = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints")


def read_map(text):
    return [(int(start, 16), int(size, 16), name)
            for start, size, name in (line.split(" ", 2) for line in text)]


def map_of(target, *options):
    lines = read_map(jitscope("map", "-p", target.pid, "-o", "-", *options).out)
    for (start, size, name), after in zip(lines, lines[1:]):
        check(size > 0 and start + size <= after[0], f"lines overlap: {start:x} {size:x} {name}, {after}")
    return lines


def ranges_of(lines, body):
    start, end = int(body["address"], 0), int(body["address"], 0) + body["size"]
    mine = [each for each in lines if start <= each[0] < end]
    equal((mine[0][0], mine[-1][0] + mine[-1][1]), (start, end), f"the lines of {body['method']} cover it")
    for one, other in zip(mine, mine[1:]):
        equal(one[0] + one[1], other[0], "lines of one body follow one another")
        check(one[2] != other[2], f"two lines of one name that touch: {one} {other}")
    return [name for _, _, name in mine]


def optimised(target, method):
    """The C2 body that calls enter."""
    def found():
        return [each for each in bodies(target, f"Lines.{method}") if each["tier"] == "c2" and not each["osr"]
                and each["state"] == "in_use"]
    if not found():
        target.go("run 2000")
    check(found(), f"C2 has not compiled Lines.{method}: {bodies(target)}")
    return found()[0]


def unfolded():
    """Ranges and names of `nest`, which has `both` inlined, which has `near` inlined and calls `far`."""
    for major, java in jdks().items():
        with start_lines(java, *EXACT) as target:
            nest = optimised(target, NEST)
            plain = ranges_of(map_of(target), nest)
            equal(plain, ["LLines;::nest"], f"JDK {major}: without options")

            every = ranges_of(map_of(target, "--unfold-all"), nest)
            inside = ["LLines;::nest", "LLines;::nest->LLines;::both",
                      "LLines;::nest->LLines;::both->LLines;::near"]
            equal(sorted(set(every)), inside, f"JDK {major}: --unfold-all")
            equal(sorted(set(ranges_of(map_of(target, "--unfold"), nest))),
                  ["LLines;::both in LLines;::nest", "LLines;::near in LLines;::nest", "LLines;::nest"],
                  f"JDK {major}: --unfold")
            equal(sorted(set(ranges_of(map_of(target, "--unfold-simple"), nest))),
                  ["LLines;::both", "LLines;::near", "LLines;::nest"], f"JDK {major}: --unfold-simple")
            far = ranges_of(map_of(target, "--unfold-all"), optimised(target, FAR))
            equal(far, ["LLines;::far"], f"JDK {major}: a method without inlined ones")

            spelled = set(ranges_of(map_of(target, "--unfold-simple", "--clean-class", "--msig"), nest))
            equal(spelled, {"Lines::both(I)", "Lines::near(I)", "Lines::nest(I)"}, "--clean-class --msig")
            spelled = set(ranges_of(map_of(target, "--unfold-simple", "--dotted-class", "--msig"), nest))
            equal(spelled, {"Lines::both(int)", "Lines::near(int)", "Lines::nest(int)"}, "--dotted-class --msig")

            # Each method stands on one line; the body's own code between ranges has none.
            at = {name: f"(Lines.java:{line_of(name)})" for name in (NEAR, BOTH, NEST)}
            placed = set(ranges_of(map_of(target, "--unfold-all", "--clean-class", "--sourcepos"), nest))
            outer = f"Lines::nest{at[NEST]}"
            wanted = {outer, f"{outer}->Lines::both{at[BOTH]}",
                      f"{outer}->Lines::both{at[BOTH]}->Lines::near{at[NEAR]}"}
            equal(placed - {"Lines::nest"}, wanted, f"JDK {major}: --sourcepos")

            names = {name for _, _, name in map_of(target, "--dotted-class")}
            missing = [each["method"] for each in bodies(target)
                       if re.sub(r"\.([^.(]+)\(.*", r"::\1", each["method"]) not in names]
            equal(missing, [], "methods without a line")
            target.check_sound()


def perf_takes_it():
    """perf names samples of a JVM by the map, which --follow keeps current."""
    _, java = max(jdks().items())
    folder = scratch()
    with start_lines(java, run=1) as target:
        follow = Run("map", "-p", target.pid, "--follow", "--clean-class")
        path = pathlib.Path(target.map_path)
        wait_for(path.exists, "the map")
        target.go("run 2000")
        nest = optimised(target, NEST)
        wait_for(lambda: any(start == int(nest["address"], 0) and name == "Lines::nest" for start, _, name in
                             read_map(path.read_text().splitlines())), "the new method in the map")
        target.send("run 2000")
        run_perf("record", "-q", "-e", "cpu-clock", "-F", 999, "-p", target.pid, "-o", folder / "perf.data", "--",
                 "sleep", "1.5")
        target.expect("run ")
        follow.interrupt()
        follow.result()
        check("code bodies" in follow.error, follow.story())
        told = [sample for sample in perf_script(folder / "perf.data") if sample.ip < 1 << 63]
        named = sum(sample.frames[0].symbol.startswith("Lines::") for sample in told if sample.frames)
        check(len(told) > 20 and named > 0.9 * len(told), f"perf named {named} of {len(told)} samples")
        target.check_sound()


def perf_takes_the_dump():
    """A jitdump from outside: perf inject names by it, and unwinds through frames without frame pointers."""
    for major, java in jdks().items():
        folder = scratch("/var/tmp")
        with start_lines(java) as target:
            optimised(target, NEST)
            follow = Run("map", "-p", target.pid, "--jitdump", "--follow", cwd=folder)
            wait_for(lambda: "perf finds it" in follow.error, "the dump")
            target.go("run 1500")  # what is compiled anew is seen
            target.send("run 2500")
            run_perf("record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", 499, "--call-graph", "dwarf,16384", "-p",
                     f"{target.pid},{follow.pid}", "-o", folder / "perf.data", "--", "sleep", "1.5")
            target.expect("run ")
            follow.interrupt()
            follow.result()
            target.check_sound()
        done = run_perf("inject", "--jit", "-i", folder / "perf.data", "-o", folder / "jitted.data")
        check("unknown record" not in done.stderr, f"perf does not know all records: {done.stderr[:200]}")
        before = [each for each in perf_script(folder / "perf.data") if each.frames]
        after = [each for each in perf_script(folder / "jitted.data") if each.frames]
        java_samples = [each for each in after if each.frames[0].symbol.startswith("Lines.")]
        check(len(after) > 100 and len(java_samples) > 0.8 * len(after), f"{len(java_samples)} of {len(after)} in Lines")
        # The main thread's C frames behind main(String[]), which the interpreter runs.
        whole = sum(each.frames[-1].symbol.startswith(("clone", "__clone", "start_thread")) and
                    sum(frame.symbol.startswith("Lines.") for frame in each.frames) >= 2 and
                    any(frame.symbol == "Interpreter" for frame in each.frames) for each in java_samples)
        depth = [sum(len(each.frames) for each in told) / len(told) for told in (before, after)]
        print(f"     JDK {major}: {whole} of {len(java_samples)} stacks reach main; frames a stack {depth[0]:.1f} "
              f"without, {depth[1]:.1f} with the dump", flush=True)
        short = [[frame.symbol for frame in each.frames] for each in java_samples
                 if not each.frames[-1].symbol.startswith(("clone", "__clone", "start_thread"))]
        check(whole >= 0.95 * len(java_samples), f"{whole} of {len(java_samples)} stacks reach main: {short[:3]}")


def full_disk(target, folder):
    """No file may grow beyond 4 KiB: nothing is left of what could not be written."""
    for words in (("map", "--jitdump"), ("map", "--jitdump", "--follow", "--duration", "1"), ("map",),
                  ("image", "build")):
        done = subprocess.run(["bash", "-c", "trap '' XFSZ; ulimit -f 4; exec \"$@\"", "bash", harness.JITSCOPE, *words,
                               "-p", str(target.pid), "-o", str(folder / "full")], capture_output=True, text=True,
                              timeout=60, check=False)
        equal(done.returncode, 3, f"exit status of {words}: {done.stderr}")
        check("File too large" in done.stderr, f"says why: {done.stderr}")
        equal(list(folder.iterdir()), [], f"files left by {words}")


def other_runtimes_and_refusals():
    folder = scratch()
    with start_node("--perf-basic-prof") as target:
        target.go("go 20000")
        own = jitscope("map", "-p", target.pid, status=2)
        check("writes itself" in own.error, own.story())
        copied = map_of(target, "--unfold")
        check(any("hot " in name and "truth.js" in name for _, _, name in copied), "names as Node writes them")
        target.check_sound()
    with start_node() as target:
        none = jitscope("map", "-p", target.pid, status=(1, 3))
        check("perf-basic-prof" in none.error, f"says what would help: {none.story()}")
    with start_node("--perf-prof") as target:
        target.go("go 20000")
        for words in (("map",), ("map", "--jitdump"), ("image", "build")):
            own = jitscope(*words, "-p", target.pid, "-o", folder / "none", status=3)
            check(f"jit-{target.pid}.dump" in own.error, f"names the process's own jitdump: {own.story()}")
    equal(list(folder.iterdir()), [], "files left")
    _, java = max(jdks().items())
    with start_lines(java, run=1) as target:
        full_disk(target, folder)
        link = folder / "link.map"
        link.symlink_to(folder / "elsewhere")
        jitscope("map", "-p", target.pid, "-o", link, status=2)
        check(not (folder / "elsewhere").exists(), "a link is not followed")
        jitscope("map", "-p", target.pid, "--jitdump", "-o", folder / "jit-1.dump")
        jitscope("map", "-p", target.pid, "--jitdump", "-o", folder / "jit-1.dump", status=2)
        jitscope("map", "-p", target.pid, "--jitdump", "--unfold", status=2)
        jitscope("map", "-p", target.pid, "--jitdump", "-o", "-", status=2)
        jitscope("map", "-p", target.pid, "--duration", "1", "-o", folder / "x.map", status=2)
        told = read_map(jitscope("map", "-p", target.pid, "--follow", "--duration", "0.3", "-o", "-").out)
        check(len(told) > 50, f"--follow prints the map at its end: {len(told)} lines")
    gone = subprocess.run(["true"], check=True)
    equal(gone.returncode, 0, "true")
    jitscope("map", "-p", 2**22 - 1, status=(1, 4))


if __name__ == "__main__":
    harness.main(unfolded, perf_takes_it, perf_takes_the_dump, other_runtimes_and_refusals)
