"""The text of `jitscope script` through the rule of FlameGraph's stackcollapse-perf.pl: no sample of any kind
of recording is lost, and none changes its weight. The rule: a line that begins with a word is a sample's
head, the lines below it are its frames, an empty line ends it; all else is passed over.

The rule is written down here; where stackcollapse-perf.pl itself is in PATH it has to agree."""

import collections
import re
import shutil
import subprocess

import harness
from harness import Skip, check, compiled, equal, scratch
from profiles import jitscope_samples, record, run_jitscope, run_perf

HEAD = re.compile(r"\S.+?\s+\d+/*\d*\s+")
EVENT = re.compile(r":\s*(\d+)?\s+(\S+):\s*$")
FRAME = re.compile(r"\s*\w+\s*(.+) \((.*)\)")

SOURCE = r"""
#include <sys/prctl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile unsigned sink;
__attribute__((noinline)) static void work(void) { for (unsigned i = 0; i < 4000; ++i) sink = sink * 31 + i; }
int main(int count, char** words) {
  for (int i = 2; i < count; ++i) {  // a process for each name
    prctl(PR_SET_NAME, words[i]);
    if (i + 1 == count || fork() != 0) break;
  }
  for (long i = atol(words[1]); i > 0; --i) { work(); if (i % 64 == 0) sink += (unsigned)getppid(); }
  wait(NULL);
  return 0;
}
"""
_made = []
_taken = {}


def spinner():
    if not _made:
        _made.append(compiled("spin", SOURCE, "-O1", "-fno-omit-frame-pointer"))
    return _made[0]


Collapsed = collections.namedtuple("Collapsed", "samples weight frames")


def collapse(text):
    """{event: Collapsed}; a head without an event's name at its end counts 1 of ""."""
    found = {}
    event, weight, frames = None, 0, 0
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        if not line:
            if event is not None:
                old = found.get(event, Collapsed(0, 0, 0))
                found[event] = Collapsed(old.samples + 1, old.weight + weight, old.frames + frames)
            event, weight, frames = None, 0, 0
        elif HEAD.match(line):
            named = EVENT.search(line)
            event, weight = (named[2], int(named[1] or 1)) if named else ("", 1)
        elif FRAME.match(line):
            frames += event is not None
        else:
            check(False, f"neither a head nor a frame: {line!r}")
    return found


def recorded(data):
    """The same as the recording's samples have it."""
    found = {}
    for line in run_perf("script", "-i", data, "-F", "event,period", "-G").stdout.splitlines():
        period, event = line.split()
        event = event.rstrip(":")
        old = found.get(event, (0, 0))
        found[event] = (old[0] + 1, old[1] + int(period))
    return found


def by_the_script_itself(text):
    """The sum, or None without the script."""
    script = shutil.which("stackcollapse-perf.pl")
    if not script:
        return None
    done = subprocess.run([script], input=text, capture_output=True, text=True, check=True)
    return sum(int(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines())


def nothing_is_lost(what, taken, at_least=50):
    text = run_jitscope("script", "-i", taken.data).stdout
    sums = collapse(text)
    expected = recorded(taken.data)
    samples = sum(each.samples for each in sums.values())
    frames = sum(each.frames for each in sums.values())
    print(f"     {what}: {sum(count for count, _ in expected.values())} samples recorded, {samples} collapsed, "
          f"{frames} frames", flush=True)
    equal({event: each[:2] for event, each in sums.items()}, expected, f"{what}: samples and weights")
    check(samples >= at_least, f"{what}: only {samples} samples")
    check(frames >= samples, f"{what}: samples without a frame")
    told = by_the_script_itself(text)
    if told is not None:
        check(told in expected[next(iter(sums))], f"{what}: stackcollapse-perf.pl: {told}, recorded {expected}")
    return text


KINDS = (
    ("no stacks", ()),
    ("frame pointers", ("-g",)),
    ("registers and stack", ("--call-graph", "dwarf,4096")),
    ("user code alone", ("-g", "--all-user")),
    ("kernel alone", ("-g", "--all-kernel")),
    ("kernel alone, registers and stack", ("--call-graph", "dwarf,4096", "--all-kernel")),
)


def taken_of(what, options):
    if what not in _taken:
        # The kernel's part is small.
        _taken[what] = record(spinner(), 60_000 if "--all-kernel" in options else 10_000, options=options)
    return _taken[what]


def test_every_kind_of_recording():
    for what, options in KINDS:
        nothing_is_lost(what, taken_of(what, options), at_least=1 if "--all-kernel" in options else 50)


def test_events_with_and_without_stacks():
    taken = record(spinner(), 10_000, options=("-e", "cpu-clock/call-graph=fp/", "-e", "page-faults/call-graph=no/",
                                               "-F", "5000"), frequency=None)
    text = nothing_is_lost("two events", taken)
    check("page-faults" in text, "samples of the second event")


def test_names_of_threads_that_look_like_something_else():
    names = (" blank", "\ttab", "#comment", "a", "x 17 [000] 3.14")
    taken = record(spinner(), 5_000, *names, options=("-g",))
    comms = {sample.fields["comm"] for sample in jitscope_samples(taken.data)}
    check(set(names) <= comms, f"{names} among the threads: {comms}")
    equal(sum(each.samples for each in collapse(run_jitscope("script", "-i", taken.data).stdout).values()),
          sum(count for count, _ in recorded(taken.data).values()), "samples of threads with odd names")


def heads(text):
    return [line for line in text.splitlines() if line and not line.startswith("\t")]


def test_heads_are_those_of_perf():
    """Where the event records stacks, however they are decoded; perf's first lines of `dwarf` too."""
    for what, options in KINDS[1:]:
        taken = taken_of(what, options)
        ours = heads(run_jitscope("script", "-i", taken.data).stdout)
        theirs = heads(run_perf("script", "--no-inline", "-i", taken.data).stdout)
        equal(len(ours), len(theirs), f"{what}: heads")
        for mine, their in zip(ours, theirs):
            equal(mine, their, f"{what}: a head")


TRACED = ("sched:sched_process_exec", "sched:sched_switch", "syscalls:sys_enter_openat")
PAYLOAD = re.compile(r"\s*(.*?)\s+(-?\d+) \[(\d+)\]\s+([\d.]+):\s+(\S+): (.*)$")


def payloads(text):
    """[(tid, time, event, {field: value})] of heads with `name=value` or `name: value`."""
    found = []
    for line in text.splitlines():
        match = None if line.startswith("\t") else PAYLOAD.match(line)
        if not match:
            continue
        fields = {}
        for name, value in re.findall(r"(\w+)(?:=|: )(.*?)(?=,? \w+(?:=|: )| ==> |$)", match[6]):
            fields[name] = value
        found.append((match[2], match[4], match[5], fields))
    return found


def same(theirs, ours):
    try:
        return int(theirs, 0) == int(ours, 0)
    except ValueError:
        return theirs == ours


def traced(*options):
    data = scratch() / "perf.data"
    words = [word for event in TRACED for word in ("-e", event)]
    done = run_perf("record", "-q", "-k", "mono", *words, *options, "-o", data, "--", "sh", "-c", "ls / >/dev/null; true",
                    status=None)
    if done.returncode != 0 or not data.exists():
        raise Skip("perf cannot record tracepoints here: " + (done.stderr.strip().splitlines() or ["?"])[0])
    return data


def test_payloads_of_tracepoints():
    """The fields that perf prints have the same values; where perf decodes one (a state's letter) ours is the
    number that was recorded."""
    for options in ((), ("-g",)):
        data = traced(*options)
        text = run_jitscope("script", "-i", data).stdout
        theirs, ours = payloads(run_perf("script", "-i", data).stdout), payloads(text)
        equal([each[:3] for each in ours], [each[:3] for each in theirs], "samples with a payload")
        check(len(ours) >= 10, f"only {len(ours)} payloads: {text[:500]}")
        compared = collections.Counter()
        for (_, _, event, expected), (_, _, _, fields) in zip(theirs, ours):
            for name, value in expected.items():
                if name in ("prev_state", "nr"):
                    continue
                check(name in fields and same(value, fields[name]), f"{event}: {name} is {value}, ours {fields}")
                compared[event] += 1
        check(len(compared) >= 3, f"events compared: {compared}")
        told = [sample.fields["fields"] for sample in jitscope_samples(data)]
        equal(len(told), len(ours), "samples with fields in the JSON")
        check(any(each.get("filename") == "/usr/bin/ls" or str(each.get("filename", "")).endswith("/ls")
                  for each in told), "the program that was started")
        equal(sum(each.samples for each in collapse(text).values()), len(ours), "samples, collapsed")
    # Through a pipe the formats come as a record.
    data = traced("-g")
    with open(data.parent / "pipe.data", "wb") as file:
        done = subprocess.run(["perf", "record", "-q", "-k", "mono", "-e", TRACED[0], "-o", "-", "--", "true"],
                              stdout=file, stderr=subprocess.PIPE, check=False)
    if done.returncode == 0:
        check("filename=" in run_jitscope("script", "-i", data.parent / "pipe.data").stdout, "fields of a pipe")


harness.main(test_every_kind_of_recording, test_payloads_of_tracepoints, test_events_with_and_without_stacks,
             test_names_of_threads_that_look_like_something_else, test_heads_are_those_of_perf)
