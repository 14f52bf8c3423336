"""script, report, flame, doctor and record from a shell's point of view: what they print of a program whose
hot functions are known, exit statuses, JSON, pipes that close or end, full disks, files that are none.

perf's own report says what the percentages are."""

import collections
import gzip
import json
import os
import re
import resource
import signal
import subprocess
import threading

import harness
from harness import JITSCOPE, check, compiled, equal, jitscope, scratch, wait_for
from profiles import run_perf
from runtimes import jdks, start_java, start_node

SOURCE = r"""
#include <stdio.h>
#include <stdlib.h>
static volatile double sink;
__attribute__((noinline)) double heavy(double x) { double s = 0; for (int i = 1; i < 3000; ++i) s += (x + i) / (i * 3.0); return s; }
__attribute__((noinline)) double light(double x) { double s = 0; for (int i = 1; i < 1000; ++i) s += (x + i) / (i * 3.0); return s; }
__attribute__((noinline)) double drive(double x) { double a = heavy(x); double b = light(x); return a + b; }
int main(int count, char** words) {
  long rounds = count > 1 ? atol(words[1]) : 30000;
  for (long i = 0; i < rounds; ++i) sink = drive((double)i);
  puts("done");
  return 0;
}
"""
_made = {}


def hot():
    """A program that spends three quarters of its time in heavy, the rest in light, both called by drive."""
    if "hot" not in _made:
        _made["hot"] = compiled("hot", SOURCE, "-g", "-O0")
    return _made["hot"]


def recording():
    if "data" not in _made:
        _made["data"] = scratch() / "perf.data"
        run = jitscope("record", "-e", "cpu-clock", "-F", "5000", "-o", _made["data"], "--", hot())
        check("done" in run.out, run.story())
        check(_made["data"].stat().st_size > 100_000, "a recording that is longer than a pipe")
    return _made["data"]


def empty_recording():
    if "empty" not in _made:
        _made["empty"] = scratch() / "perf.data"
        jitscope("record", "-e", "cpu-clock", "-o", _made["empty"], "-F", "1", "--", "true")
    return _made["empty"]


def report_rows(*words):
    """{method: (total, self)} as the table shows them, in percent."""
    run = jitscope("report", *words)
    rows = {}
    for line in run.out:
        match = re.match(r"\s*([\d.]+)%\s+([\d.]+)%\s+\d+\s+.*?(\S+)$", line)
        if match:
            rows[match[3]] = (match[1], match[2])
    return rows


def test_percentages_are_those_of_perf():
    rows = report_rows("-i", recording())
    told = run_perf("report", "--stdio", "-i", recording(), "--children", "-g", "none", "-s", "sym").stdout
    compared = 0
    for total, own, symbol in re.findall(r"^\s*([\d.]+)%\s+([\d.]+)%\s+\[\.\] (\S+)\s*$", told, re.M):
        if symbol in ("heavy", "light", "drive", "main"):
            equal(rows.get(symbol), (total, own), f"total and self of {symbol}")
            compared += 1
    equal(compared, 4, f"functions in {told}")
    check(float(rows["heavy"][1]) > float(rows["light"][1]) > 1, f"{rows}")
    check(float(rows["drive"][1]) < 5 < 90 < float(rows["drive"][0]), f"{rows}")
    run = jitscope("report", "-i", recording(), "--callers", "heavy")
    check("drive" in run.out[-1] or any("drive (hot)" in line for line in run.out), run.story())
    run = jitscope("report", "-i", recording(), "--callees", "drive")
    check(any("heavy (hot)" in line for line in run.out), run.story())


def test_exit_statuses_and_hints():
    folder = scratch()
    (folder / "nothing").write_bytes(b"")
    (folder / "garbage").write_text("this is no recording\n" * 20)
    (folder / "cut").write_bytes(recording().read_bytes()[:90])
    (folder / "threads").mkdir()
    (folder / "threads" / "data").write_bytes(b"PERFILE2")
    data = recording()
    for verb in ("script", "report", "doctor", "flame"):
        to = ["-o", folder / "x.html"] if verb == "flame" else []
        for words, status, says in (
                (["-i", folder / "absent"], 1, "jitscope record"),
                (["-i", folder / "nothing"], 3, "is empty"),
                (["-i", folder / "garbage"], 3, "no perf.data"),
                (["-i", folder / "cut"], 3, "perf.data"),
                (["-i", folder], 2, "directory"),
                (["-i", folder / "threads"], 2, "--threads"),
                (["-i", empty_recording()], 1, "no samples"),
                (["-i", data, "--perf-map", "x"], 2, "PID=FILE"),
                (["-i", data, "--perf-map", "1=/nonexistent"], 1, "/nonexistent"),
                (["-i", data, "--jitdump", "/nonexistent"], 1, "/nonexistent"),
                (["-i", data, "--root", "/nonexistent"], 1, "/nonexistent"),
                (["-i", data, "--root", data], 2, "directory"),
                (["-i", data, "--map", "/nonexistent=/x"], 1, "/nonexistent"),
                (["--bogus"], 2, "bogus"),
                (["-i", data], 0, "")):
            run = jitscope(verb, *words, *to, status=status)
            check(says in run.error + "\n".join(run.out), f"no {says!r}: {run.story()}")
    for words, status, says in (
            (["report", "-s", "weather"], 2, "keys are"),
            (["report", "--event", "nope"], 1, "it has: cpu-clock"),
            (["flame", "--event", "nope", "-o", folder / "x.html"], 1, "it has: cpu-clock"),
            (["report", "--callers", "nope"], 1, "'*name*'"),
            (["report", "--max", "-1"], 2, "--max"),
            (["report", "--percent-limit", "-1"], 2, "--percent-limit"),
            (["report", "--json", "-g"], 2, "rows"),
            (["flame", "-o", folder / "x.gif"], 2, ".pb.gz"),
            (["flame", "-o", "/nonexistent/x.html"], 1, "/nonexistent/x.html")):
        run = jitscope(*words, "-i", data, status=status)
        check(says in run.error, f"no {says!r}: {run.story()}")
    for pid, status in (("0", 2), ("-1", 2), ("x", 2), ("999999999", 1)):
        check(jitscope("doctor", "-p", pid, status=status).error, "a message")
    cut = folder / "later"
    cut.write_bytes(data.read_bytes()[:data.stat().st_size // 2])
    check("cut short" in jitscope("report", "-i", cut).error, "a file that was cut is said to be")


def test_json():
    run = jitscope("report", "-i", recording(), "--json")
    head = run.objects("profile")
    equal(len(head), 1, "profile lines")
    equal(set(head[0]), {"type", "events", "event", "samples", "weight", "lost", "command", "hostname"}, "profile")
    rows = run.objects("row")
    for row in rows:
        equal(set(row) - {"reason"}, {"type", "method", "raw", "dso", "self", "total", "tier", "source",
                                      "ambiguous"}, "row")
        equal("reason" in row, row["method"] == "", f"a reason where there is no name: {row}")
    equal(sum(row["self"] for row in rows), head[0]["samples"], "samples of all rows")
    equal(len(jitscope("report", "-i", recording(), "--json", "--max", "2").objects("row")), 2, "rows of --max 2")
    half = jitscope("report", "-i", recording(), "--json", "--percent-limit", "50").objects("row")
    equal([row["method"] for row in half], [row["method"] for row in rows][:len(half)], "the largest rows")
    check("drive" in {row["method"] for row in half} and len(half) < len(rows), f"{half}")
    run = jitscope("script", "-i", recording(), "--json")
    samples = run.objects("sample")
    equal(len(samples), head[0]["samples"], "samples")
    for sample in samples:
        check({"type", "comm", "pid", "tid", "time", "cpu", "event", "period", "ip", "frames"} <= set(sample),
              f"{sample}")
        for frame in sample["frames"]:
            check({"ip", "address", "method", "raw", "dso", "source", "tier", "ambiguous"} <= set(frame), f"{frame}")
    run = jitscope("doctor", "-i", recording(), "--json")
    (diagnosis,) = run.objects("diagnosis")
    equal(set(diagnosis), {"type", "samples", "frames", "named_frames", "unnamed_leaves", "ambiguous_leaves", "lost"},
          "diagnosis")
    equal(diagnosis["samples"], head[0]["samples"], "samples that doctor saw")
    equal(diagnosis["frames"], sum(len(sample["frames"]) for sample in samples), "frames that doctor saw")


def finish(process, limit=60):
    try:
        return process.communicate(timeout=limit * harness.TIME_FACTOR)
    except subprocess.TimeoutExpired:
        process.kill()
        raise harness.Failure(f"{process.args} does not end") from None


def start(*words, **options):
    return subprocess.Popen([JITSCOPE, *map(str, words)], stderr=subprocess.PIPE, **options)


COMMANDS = (["script"], ["script", "--json"], ["report"], ["report", "--json"], ["report", "-g"], ["doctor"],
            ["flame", "-o", "-.folded"])


def test_an_output_that_closes():
    for words in COMMANDS:
        ours, theirs = os.pipe()
        os.close(ours)
        process = start(*words, "-i", recording(), stdout=theirs)
        os.close(theirs)
        _, error = finish(process)
        equal(process.returncode, 0, f"{words} with a closed output: {error}")
        check(b"jitscope:" not in error, f"{words}: {error}")


def test_an_output_that_is_full():
    for words in COMMANDS:
        with open("/dev/full", "wb") as full:
            process = start(*words, "-i", recording(), stdout=full)
        _, error = finish(process)
        equal(process.returncode, 3, f"{words} into a full disk: {error}")
        check(b"No space left" in error, f"{words}: {error}")


def bounded(size):
    """Files end there, as on a disk that is full."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    return limit


def test_a_disk_that_is_full():
    folder = scratch()
    page = folder / "x.html"
    process = start("flame", "-i", recording(), "-o", page, preexec_fn=bounded(40_000))
    _, error = finish(process)
    equal(process.returncode, 3, f"flame: {error}")
    equal(page.exists(), False, "half a page")
    data = folder / "perf.data"
    process = start("record", "-e", "cpu-clock", "-F", "5000", "-o", data, "--", hot(), "100000000",
                    preexec_fn=bounded(200_000), stdout=subprocess.DEVNULL)
    _, error = finish(process)
    equal(process.returncode, 3, f"record: {error}")
    check(b"can be read" in error, f"no word of what is left: {error}")
    equal(sorted(path.name for path in folder.iterdir()), ["perf.data"], "what is left")
    check("heavy" in report_rows("-i", data), "what was recorded until then")


def test_a_recording_through_a_pipe():
    told = jitscope("report", "-i", recording()).out
    whole = recording().read_bytes()
    for words in (["report"], ["script"], ["doctor"], ["flame", "-o", "-.folded"]):
        # Ctrl-C in the middle: for the recorder; what comes until it ends is shown.
        process = start(*words, "-i", "-", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        out = []
        # What comes out before the input ends may be more than a pipe holds, too.
        reader = threading.Thread(target=lambda: out.append(process.stdout.read()))
        reader.start()
        process.stdin.write(whole)  # more than a pipe holds: it is being read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        process.stdin.close()
        reader.join(60 * harness.TIME_FACTOR)
        if reader.is_alive():
            process.kill()
        equal(process.wait(), 0, f"{words} of a pipe: {process.stderr.read()}")
        check(out[0], f"{words}: nothing came out")
        if words == ["report"]:
            equal(out[0].decode().splitlines(), told, "the report of a pipe")
        # Twice: it ends, though the other end stays open.
        process = start(*words, "-i", "-", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        process.stdin.write(whole)
        process.stdin.flush()

        def ended():
            process.send_signal(signal.SIGINT)
            return process.poll() is not None
        wait_for(ended, f"{words} to end")
        equal(process.returncode, -signal.SIGINT, f"{words}: how it ended")
        process.communicate()


def test_a_command_that_cannot_run_costs_no_recording():
    folder = scratch()
    data = folder / "perf.data"
    jitscope("record", "-e", "cpu-clock", "-o", data, "--", "true")
    before = data.read_bytes()
    for command, status in (("/nonexistent", 2), ("/etc/passwd", 3)):
        run = jitscope("record", "-e", "cpu-clock", "-o", data, "--", command, status=status)
        check(command in run.error, run.story())
        equal(sorted(path.name for path in folder.iterdir()), ["perf.data"], "files")
        equal(data.read_bytes(), before, "the recording before it")
    run = jitscope("record", "-e", "cpu-clock", "--duration", "0.2", "-o", data, "--", hot(), "100000000")
    check("still ran, and was ended" in run.error, run.story())


def test_forms():
    folder = scratch()
    (head,) = jitscope("report", "-i", recording(), "--json").objects("profile")
    count = head["samples"]
    for name in ("x.html", "x.folded", "x.txt", "x.pb.gz", "x.speedscope.json", "x.firefox.json"):
        run = jitscope("flame", "-i", recording(), "-o", folder / name)
        check(f"{count} samples" in run.error, run.story())
    check((folder / "x.html").read_text().lower().startswith("<!doctype html"), "a page")
    folded = collections.Counter()
    for line in (folder / "x.folded").read_text().splitlines():
        stack, _, samples = line.rpartition(" ")
        folded[stack] += int(samples)
    equal(sum(folded.values()), count, "samples in folded stacks")
    check(any(stack.endswith(";main;drive;heavy") for stack in folded), f"{folded.most_common(3)}")
    equal((folder / "x.txt").read_bytes(), (folder / "x.folded").read_bytes(), ".txt and .folded")
    check(b"heavy" in gzip.decompress((folder / "x.pb.gz").read_bytes()), "names in pprof")
    scope = json.loads((folder / "x.speedscope.json").read_text())
    # Equal ones that follow each other are one.
    equal(sum(sum(profile["weights"]) for profile in scope["profiles"]), head["weight"], "time in speedscope")
    firefox = json.loads((folder / "x.firefox.json").read_text())
    check(firefox["threads"] and "heavy" in json.dumps(firefox), "names in the Firefox profile")
    # A recording needs no -i, and folded stacks come back as they were.
    run = jitscope("flame", "-o", "-.folded", recording())
    equal("\n".join(run.out) + "\n", (folder / "x.folded").read_text(), "without -i")
    run = jitscope("flame", "-o", "-.folded", folder / "x.folded")
    equal(sorted(run.out), sorted((folder / "x.folded").read_text().splitlines()), "read again")
    jitscope("flame", "--diff", recording(), folder / "x.folded", "-o", folder / "diff.html")
    check((folder / "diff.html").stat().st_size > 1000, "a page of differences")


def page_data(path):
    return json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', path.read_text(), re.S)[1])


def test_folded_stacks_of_other_tools():
    folder = scratch()
    page = folder / "x.html"

    def shown(text, name="in.folded", status=0):
        (folder / name).write_text(text)
        return jitscope("flame", "-o", page, folder / name, status=status)

    shown("main;foo 1\nmain;bar 2\n")
    data = page_data(page)
    check({"main", "foo", "bar"} <= set(data["strings"]), f"frames of the page: {data['strings']}")
    run = jitscope("flame", "-o", "-.folded", folder / "in.folded")
    equal(sorted(run.out), ["main;bar 2", "main;foo 1"], "as it was")

    run = shown("foo 1.5\nbar 0.25\n")
    check("175 samples" in run.error and "1/100" in page.read_text(), run.story())

    shown("main;foo 3 1\nmain;bar 0 4\n", "two.folded")
    data = page_data(page)
    equal(len(data["sides"]), 2, "sides")
    check(not any(text.endswith((" 3", " 0")) for text in data["strings"]), f"{data['strings']}")
    run = jitscope("flame", "--diff", folder / "two.folded", folder / "in.folded", "-o", page, status=2)
    check("two counts" in run.error, run.story())

    run = shown("main;foo 3 1\nmain;bar 4\n", status=3)
    check("line 2" in run.error, run.story())
    run = shown("main;foo 3\nno count here\n")
    check("line 2: no count here" in run.error, run.story())

    # A recording beside its own stacks: nothing grew or shrank, so every frame stands in both.
    jitscope("flame", "-i", recording(), "-o", folder / "own.folded")
    jitscope("flame", "--diff", recording(), folder / "own.folded", "-o", page)
    data = page_data(page)
    equal([event["name"] for event in data["events"]], ["cpu-clock"], "events of both")
    comms = {group["comm"] for group in data["groups"]}
    check("hot" in comms and "" not in comms, f"threads of both: {comms}")


def test_several_events():
    data = scratch() / "perf.data"
    run_perf("record", "-q", "-e", "cpu-clock,page-faults", "-k", "mono", "-g", "-o", data, "--", hot(), "5000")
    run = jitscope("report", "-i", data)
    check(any("page-faults" in line for line in run.out[:6]), "the other event is told of")
    faults = jitscope("report", "-i", data, "--event", "page-faults", "--json").objects("profile")[0]
    equal(faults["event"], "page-faults", "event")
    run = jitscope("flame", "-i", data, "--event", "page-faults", "-o", "-.folded")
    equal(sum(int(line.rpartition(" ")[2]) for line in run.out), faults["samples"], "faults")
    check(f"{faults['samples']} samples of page-faults" in run.error, run.story())
    data = scratch() / "perf.data"
    run_perf("record", "-q", "-e", "cpu-clock", "--call-graph", "dwarf", "-o", data, "--", hot(), "5000")
    for words in (["report"], ["doctor"]):
        run = jitscope(*words, "-i", data)
        check("--call-graph dwarf are not read" in run.error + "\n".join(run.out), run.story())


def test_doctor_of_a_process():
    run = jitscope("doctor", "-p", os.getpid())
    check("runs no JIT code" in run.out[-1], run.story())
    with start_node("--perf-prof") as target:
        run = jitscope("doctor", "-p", target.pid)
        check(any(re.match(r"  jitdump: usable: /.*\.dump$", line) for line in run.out), run.story())
        check("jitscope record" in run.out[-1], run.story())
        (source,) = jitscope("doctor", "-p", target.pid, "--json").objects("source")
        equal((source["kind"], source["used"]), ("jitdump", True), "source")
    with start_node() as target:
        run = jitscope("doctor", "-p", target.pid, status=1)
        check("--perf-prof" in run.out[-1], run.story())


def test_doctor_sees_missing_callers():
    java = max(jdks().items())[1]
    told = {}
    for flags in ((), ("-XX:+PreserveFramePointer",)):
        data = scratch() / "perf.data"
        with start_java(java, "FiftyMain", flags=flags) as target:
            target.go("go 20000")
            target.ask("run")
            jitscope("record", "-p", target.pid, "--duration", "1", "-o", data)
        told[flags] = [line for line in jitscope("doctor", "-i", data).out if "lack callers" in line]
    (without, kept) = told.values()
    check(without and "-XX:+PreserveFramePointer" in without[0], f"{told}")
    equal(kept, [], "with the flag that doctor names")


harness.main(test_percentages_are_those_of_perf, test_exit_statuses_and_hints, test_json, test_an_output_that_closes,
             test_an_output_that_is_full, test_a_disk_that_is_full, test_a_recording_through_a_pipe,
             test_a_command_that_cannot_run_costs_no_recording, test_forms, test_folded_stacks_of_other_tools, test_several_events,
             test_doctor_of_a_process, test_doctor_sees_missing_callers)
