"""jitscope inject: what perf makes of a recording that was written again, against what jitscope makes of
the first one, sample by sample, and against what really ran.
"""

import collections
import json
import pathlib
import re
import shutil
import signal
import subprocess

import harness
from dumps import find_dump
from harness import JITSCOPE, PROGRAMS, TIME_FACTOR, Skip, check, equal, scratch
from profiles import (REGISTER_FIELDS, REGISTERS, all_right, arena_of, in_arena, parse_script, perf_environment,
                      perf_script, program, record, run_jitscope, run_perf, say, score_perf, true_name)
from runtimes import javac, jdks, node

NODE_FLAGS = ("--expose-gc", "--perf-basic-prof", "--perf-prof", "--interpreted-frames-native-stack")
NO_MORE_THAN = 0.001  # of the samples may differ

Injected = collections.namedtuple("Injected", "data images told")


def files_below(directory):
    return {path for path in pathlib.Path(directory).rglob("*") if not path.is_dir()}


def inject(data, *options, status=0, source=None, output=None):
    """Writes the recording again, and nothing else anywhere: not in HOME, not beside the input."""
    output = output or scratch("/var/tmp") / "injected.data"
    images = pathlib.Path(f"{output}.images")
    home = scratch("/var/tmp")
    beside = files_below(pathlib.Path(data).parent) if data != "-" else set()
    done = subprocess.run([JITSCOPE, "inject", "-i", str(data), "-o", str(output), *map(str, options)],
                          env={**perf_environment(), "HOME": str(home)}, stdin=source or subprocess.DEVNULL,
                          cwd=home, capture_output=True, text=True, timeout=120 * TIME_FACTOR, check=False)
    equal(done.returncode, status, f"status of inject: {done.stderr[-600:]}")
    equal(files_below(home), set(), "files in HOME and the working directory")
    if data != "-":
        equal(files_below(pathlib.Path(data).parent) - beside - {output} - files_below(images), set(),
              "new files beside the input")
    equal({path.name for path in output.parent.iterdir()} - {output.name, images.name, "perf.data"}
          if not data == "-" and output.parent != pathlib.Path(data).parent else set(), set(),
          "other files beside the output")
    return Injected(output, images, done.stderr)


def of_jit(frame):
    return ("jitted-" in frame.dso or frame.dso.startswith("/tmp/perf-") or "/memfd:" in frame.dso)


def agree(what, data, injected, at_least, *options):
    """The symbols and offsets of all JIT frames, in all samples."""
    ours = parse_script(run_jitscope("script", "--no-inline", "-i", data, *options).stdout.splitlines())
    theirs = parse_script(run_perf("script", "--no-inline", "--no-demangle", "-i", injected.data)
                          .stdout.splitlines())
    samples = named = differ = dropped = 0
    examples = []
    before = None  # what perf shows of the input
    images = str(injected.images)
    for number, (mine, perfs) in enumerate(zip(ours, theirs, strict=True)):
        if mine.frames and not perfs.frames:
            # perf drops the whole of a stack that has the word -1 in it (a walk that went astray): of the input, too.
            before = before or parse_script(run_perf("script", "--no-inline", "-i", data).stdout.splitlines())
            equal((before[number].tid, before[number].time, before[number].frames), (perfs.tid, perfs.time, []),
                  f"{what}: a stack that perf shows of the input alone")
            dropped += 1
            continue
        equal((mine.tid, mine.time, len(mine.frames)), (perfs.tid, perfs.time, len(perfs.frames)),
              f"{what}: tid, time, frames of sample {samples}")
        samples += 1
        pairs = [(a, b) for a, b in zip(mine.frames, perfs.frames) if of_jit(a) or b.dso.startswith(images)]
        named += any(b.dso.startswith(images) for _, b in pairs)
        wrong = [(a, b) for a, b in pairs
                 if (a.symbol, a.offset) != (b.symbol.removesuffix("?"), b.offset)
                 and not (a.symbol == b.symbol == "[unknown]")]
        differ += bool(wrong)
        examples += [f"{a} but {b}" for a, b in wrong[:1]]
    print(f"     {what}: {differ} of {samples} samples differ, {named} go through an image "
          f"({len(list(injected.images.glob('*')))} files), perf drops {dropped} stacks", flush=True)
    check(dropped <= 0.02 * samples, f"{what}: perf dropped {dropped} stacks")
    check(named >= at_least, f"{what}: only {named} samples go through an image: {injected.told}")
    check(differ <= NO_MORE_THAN * samples, f"{what}: {differ} of {samples} differ: {examples[:4]}")


def truth(what, *flags, record_options=(), clock=("-k", "mono"), at_least=200, functions=1500):
    """Of truth_jit: every sample in its arena has the name of the function that ran."""
    directory = scratch("/var/tmp")
    taken = record(program("truth_jit"), "--jitdump", directory, "--functions", functions, *flags,
                   options=(*REGISTERS, *record_options), directory=directory, clock=clock)
    arena = arena_of(taken)
    injected = inject(taken.data)

    def name(sample):
        return true_name(sample) if in_arena(sample, arena) else None
    score = score_perf(perf_script(injected.data, fields=REGISTER_FIELDS), name)
    say(what, "perf script of the output", score)
    all_right(score, what, at_least)
    return taken, injected


# --- each sample its own body's name ---------------------------------------------------------------------

def test_reused_addresses():
    taken, injected = truth("addresses used again and again")
    equal(len(list(injected.images.iterdir())), 1, "images of one process")
    agree("addresses used again and again", taken.data, injected, 200)


def test_pages_made_executable_again():
    truth("mprotect after each load", "--mprotect")


def test_moved():
    truth("moved code", "--move")


def test_child():
    _, injected = truth("a fork's child", "--fork")
    check(len(list(injected.images.iterdir())) == 2, "one image for each of two processes that compile")


def test_file_that_is_no_elf():
    truth("code in a mapped file", "--file", scratch("/var/tmp") / "code.bin")


def test_compressed():
    truth("a compressed recording", record_options=("-z",))


def test_without_clock():
    directory = scratch("/var/tmp")
    taken = record(program("truth_jit"), "--jitdump", directory, "--functions", 200, directory=directory, clock=())
    agree("without -k mono", taken.data, inject(taken.data), 50)


def test_map_alone():
    directory = scratch("/var/tmp")
    taken = record(program("truth_jit"), "--perf-map-file", directory / "map", "--functions", 300,
                   directory=directory)
    pid = perf_script(taken.data)[-1].pid
    option = ("--perf-map", f"{pid}={directory / 'map'}")
    agree("a perf map alone", taken.data, inject(taken.data, *option), 50, *option)


def test_map_of_a_file():
    directory = scratch("/var/tmp")
    image = directory / "image.bin"
    taken = record(program("truth_jit"), "--file", image, "--map-offsets", "--perf-map-file", directory / "map",
                   "--functions", 300, options=REGISTERS, directory=directory)
    arena = arena_of(taken)
    injected = inject(taken.data, "--map", f"{image}={directory / 'map'}:base=file")

    def permanent(sample):
        return true_name(sample) if arena.start <= sample.ip < arena.permanent_end else None
    score = score_perf(perf_script(injected.data, fields=REGISTER_FIELDS), permanent)
    say("a map made offline", "perf script of the output", score)
    all_right(score, "a map made offline", 20)


def test_lines():
    directory = scratch("/var/tmp")
    taken = record(program("truth_jit"), "--jitdump", directory, "--debug-info", "--functions", 60,
                   "--microseconds", 2000, directory=directory)
    injected = inject(taken.data)
    text = run_perf("script", "-i", injected.data, "-F", "ip,sym,srcline").stdout
    # func_N stands in line N.
    seen = re.findall(r"\bfunc_(\d+)\n\s+(\S+):(\d+)\n", text)
    wrong = [each for each in seen if each[0] != each[2]]
    print(f"     lines: {len(wrong)} of {len(seen)} wrong")
    check(len(seen) > 50 and not wrong, f"{len(seen)} lines, wrong: {wrong[:3]}; {text[:300]}")


# --- recordings of every shape ---------------------------------------------------------------------------

def test_pipe():
    directory = scratch("/var/tmp")
    data = directory / "piped.data"
    with open(data, "wb") as file:
        done = subprocess.run([shutil.which("perf") or "perf", "record", "-q", "-k", "mono", "-e", "cpu-clock",
                               "-F", "3000", "-o", "-", "--", program("truth_jit"), "--jitdump", directory,
                               "--functions", "400"], stdout=file, stderr=subprocess.PIPE,
                              env=perf_environment(), cwd=directory, check=False, timeout=120 * TIME_FACTOR)
    if done.returncode != 0 or data.stat().st_size < 4096:
        raise Skip(f"perf does not record into a pipe: {done.stderr[-200:]}")
    with subprocess.Popen(["cat", data], stdout=subprocess.PIPE) as cat:
        injected = inject("-", source=cat.stdout)
    agree("a recording from a pipe", data, injected, 50)


def test_features_and_events_stay():
    directory = scratch("/var/tmp")
    # Two events, one with stacks of its own kind.
    taken = record(program("truth_jit"), "--jitdump", directory, "--functions", 200, directory=directory,
                   options=("-e", "task-clock/freq=500/", "-g"))
    injected = inject(taken.data)

    def header(data):
        lines = run_perf("script", "--header-only", "-I", "-i", data).stdout.splitlines()
        return [line for line in lines if not re.search(r"captured on|data (offset|size)|feat offset|header version"
                                                        r"|compressed|missing features", line)]
    equal(header(injected.data), header(taken.data), "what perf says of the header")
    events = [run_perf("evlist", "-v", "-i", data).stdout for data in (taken.data, injected.data)]
    equal(events[1], events[0], "the events")
    agree("two events", taken.data, injected, 50)


def test_again():
    directory = scratch("/var/tmp")
    taken = record(program("truth_jit"), "--jitdump", directory, "--functions", 300, directory=directory)
    first = inject(taken.data)
    second = inject(first.data)
    told = [[(s.time, s.frames[0].symbol, s.frames[0].offset) for s in perf_script(each.data)]
            for each in (first, second)]
    equal(told[1], told[0], "what perf says of a recording that was injected twice")


def test_refusals():
    directory = scratch("/var/tmp")
    taken = record(program("truth_jit"), "--jitdump", directory, "--functions", 50, directory=directory)
    before = taken.data.read_bytes()
    refused = run_jitscope("inject", "-i", taken.data, "-o", taken.data, "--overwrite", status=(2,))
    check("another file" in refused.stderr, refused.stderr)
    equal(taken.data.read_bytes(), before, "the input")
    first = inject(taken.data)
    refused = run_jitscope("inject", "-i", taken.data, "-o", first.data, status=(2,))
    check("--overwrite" in refused.stderr, refused.stderr)
    run_jitscope("inject", "-i", taken.data, "-o", first.data, "--overwrite", status=(0,))
    # Nothing is left of what could not be done.
    broken = directory / "broken.data"
    broken.write_bytes(before[:8] + b"\xff" * 200)
    out = directory / "out.data"
    run_jitscope("inject", "-i", broken, "-o", out, status=(3,))
    check(not out.exists() and not pathlib.Path(f"{out}.images").exists(), "an output of a broken input")
    run_jitscope("inject", "-i", directory / "none.data", "-o", out, status=(1,))


# --- runtimes --------------------------------------------------------------------------------------------

def test_node():
    directory = scratch("/var/tmp")
    taken = record(node(), *NODE_FLAGS, PROGRAMS / "churn.js", 60, 30, directory / "log", directory=directory,
                   options=("-g",), frequency=3000)
    pid = taken.out[0].split()[1]
    find_dump(directory)
    try:
        injected = inject(taken.data)
        equal(len(list(injected.images.iterdir())), 1, "images of one process")
        agree("node, with stacks", taken.data, injected, 200)
        reported("node", taken.data, injected)
        annotated(injected, r"churn_\d+")
    finally:
        pathlib.Path(f"/tmp/perf-{pid}.map").unlink(missing_ok=True)


def reported(what, data, injected):
    """Samples of each JIT symbol in perf report, and in jitscope's of the input, which adds up V8's tiers."""
    def plain(name):
        return re.sub(r"^(JS|LazyCompile|Function):[~^+*o]*'?", "JS:", name)
    theirs = collections.Counter()
    text = run_perf("report", "--stdio", "--no-children", "-g", "none", "--no-demangle", "-F", "sample,dso,sym", "-s",
                    "dso,sym", "-i", injected.data).stdout
    for line in text.splitlines():
        found = re.match(r"\s*(\d+)\s+(\S+)\s+\[\.\] (.*?)\s*$", line)
        if found and found[2].startswith("jit-"):
            theirs[plain(found[3])] += int(found[1])
    ours = collections.Counter()
    for line in run_jitscope("report", "-i", data, "--json", "--no-children", "--no-inline").stdout.splitlines():
        row = json.loads(line)
        if row["type"] == "row" and row["source"] in ("jitdump", "recording") and row["self"]:
            ours[plain(row["raw"])] += row["self"]
    whole = sum(ours.values())
    differ = sum(((ours - theirs) + (theirs - ours)).values())
    print(f"     {what}: perf report shows {sum(theirs.values())} of {whole} samples of {len(ours)} methods")
    check(whole >= 200 and differ <= NO_MORE_THAN * whole,
          f"{what}: perf report differs by {differ} of {whole}: {(ours - theirs).most_common(3)}, "
          f"{(theirs - ours).most_common(3)}")


def annotated(injected, pattern):
    """The assembly of the hottest function of that name."""
    text = run_perf("script", "--no-inline", "-i", injected.data, "-F", "ip,sym", "-G").stdout
    names = collections.Counter(line.split(None, 1)[1] for line in text.splitlines() if re.search(pattern, line))
    check(names, f"no function {pattern}")
    name, count = names.most_common(1)[0]
    done = run_perf("annotate", "--stdio", "--stdio-color", "never", "-i", injected.data, "-s", name)
    lines = re.findall(r"^\s+(\d+\.\d+) +:\s+[0-9a-f]+:\s+\S+", done.stdout, re.M)
    shares = sum(map(float, lines))
    print(f"     perf annotate {name}: {len(lines)} instructions, {shares:.0f} % of {count} samples")
    check(len(lines) > 3 and shares > 95, f"no assembly of {name}: {done.stdout[:400]} {done.stderr[:300]}")


DEEP = """
public class Deep {
  static int leaf(int n) { int r = n; for (int i = 0; i < 300; i++) r = r * 31 + (r >>> 3); return r; }
  static int a(int d, int n) { return d == 0 ? leaf(n) : b(d - 1, n) + 1; }
  static int b(int d, int n) { return d == 0 ? leaf(n) + 2 : c(d - 1, n) ^ 5; }
  static int c(int d, int n) { int x = d == 0 ? leaf(n) : a(d - 1, n); return x + 3; }
  static int round(int n) { int r = 0; for (int i = 0; i < 1000; i++) r += a(20, i + n); return r; }
  public static void main(String[] args) throws Exception {
    System.out.println("ready " + new java.io.File("/proc/self").getCanonicalFile().getName());
    int n = 0, sum = 0;
    while (System.in.available() == 0) sum += round(n++);
    System.out.println(sum);
  }
}
"""


def deep_java(java, directory, *flags):
    """A JVM that runs it until it is written to."""
    (directory / "Deep.java").write_text(DEEP, encoding="utf-8")
    subprocess.run([*javac(), "-d", directory, directory / "Deep.java"], check=True, capture_output=True)
    return harness.Target([java, *flags, "-cp", directory, "Deep"])


def test_jvm_recorded():
    for major, java in jdks().items():
        directory = scratch("/var/tmp")
        data = directory / "recorded.data"
        with deep_java(java, directory, "-XX:+PreserveFramePointer") as target:
            run_jitscope("record", "-F", 999, "-p", target.pid, "--duration", 3, "-o", data, status=(0,))
        injected = inject(data)
        agree(f"JDK {major}, jitscope record", data, injected, 200)
        reported(f"JDK {major}", data, injected)
        annotated(injected, r"Deep\.\w+")


def test_stacks_without_frame_pointers():
    for major, java in jdks().items():
        directory = scratch("/var/tmp")
        dump, data = directory / "jit.dump", directory / "perf.data"
        with deep_java(java, directory) as target, harness.Child(
                [JITSCOPE, "map", "-p", target.pid, "--jitdump", "--follow", "-o", dump]) as follower:
            harness.wait_for(lambda: dump.exists() and dump.stat().st_size > 4096, "bodies in the jitdump")
            run_perf("record", "-q", "-k", "mono", "--call-graph", "dwarf,16384", "-e", "cpu-clock", "-F", 300,
                     "-p", target.pid, "-o", data, "--", "sleep", 4)
            follower.signal(signal.SIGINT)
            equal(follower.finish(), 0, f"status of {follower.story()}")
        injected = inject(data, "--jitdump", dump)

        def stacks(path, images):
            """(depth, reaches main's thread) of the samples whose leaf is compiled Java code."""
            text = run_perf("script", "--no-inline", "-i", path, limit=600).stdout.splitlines()
            return {(s.tid, s.time): (len(s.frames), any("JavaMain" in f.symbol for f in s.frames),
                                      images and s.frames[0].dso.startswith(images)
                                      and "Deep." in s.frames[0].symbol)
                    for s in parse_script(text) if s.frames}
        after = stacks(injected.data, str(injected.images))
        before = stacks(data, None)
        java_samples = [key for key, value in after.items() if value[2]]
        whole = sum(after[key][1] for key in java_samples)
        depths = [sum(each[key][0] for key in java_samples) / max(len(java_samples), 1) for each in (before, after)]
        print(f"     JDK {major}: {whole} of {len(java_samples)} stacks reach JavaMain; mean depth {depths[0]:.1f} "
              f"before, {depths[1]:.1f} after")
        check(len(java_samples) >= 200, f"only {len(java_samples)} samples in compiled code")
        check(whole >= 0.95 * len(java_samples), "stacks end before main")


if __name__ == "__main__":
    harness.main(test_reused_addresses, test_pages_made_executable_again, test_moved, test_child,
                 test_file_that_is_no_elf, test_compressed, test_without_clock, test_map_alone,
                 test_map_of_a_file, test_lines, test_pipe, test_features_and_events_stay, test_again,
                 test_refusals, test_node, test_jvm_recorded, test_stacks_without_frame_pointers)
