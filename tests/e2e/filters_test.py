"""The filters of script, report, flame and doctor, against perf's own: a recording of two processes with two
threads each, in code of a program, a library and the kernel. What `jitscope script` prints with a filter is byte
for byte what `perf script` prints with it, and the percentages of `report` are those of `perf report`."""

import itertools
import re
import subprocess

import harness
from harness import check, compiled, equal, jitscope, scratch
from profiles import run_perf

SOURCE = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static char room[1 << 20];
static volatile unsigned long sink;
static int order(const void* a, const void* b) { return *(const char*)a - *(const char*)b; }
__attribute__((noinline)) void spin(long n) { for (long i = 0; i < n * 50000; ++i) sink += i; }
__attribute__((noinline)) void copy(long n) {
  for (long i = 0; i < n; ++i) { memset(room, (int)i, sizeof(room)); qsort(room, 300, 1, order); }
}
static void* work(void* name) {
  pthread_setname_np(pthread_self(), name);
  for (int i = 0; i < 150; ++i) { spin(3); copy(4); }
  return NULL;
}
int main(int count, char** words) {
  if (count > 1) { work("again"); return 0; }
  const pid_t child = fork();
  if (child == 0) prctl(PR_SET_NAME, "child one");
  pthread_t thread;
  pthread_create(&thread, NULL, work, child == 0 ? "a, b" : "[x]");
  for (int i = 0; i < 150; ++i) { spin(5); copy(2); }
  pthread_join(thread, NULL);
  if (child != 0) { waitpid(child, NULL, 0); return 0; }
  execl(words[0], words[0], "again", NULL);
  return 1;
}
"""
_made = {}


def recording():
    if "data" not in _made:
        pair = compiled("pair", SOURCE, "-O0", "-g", "-pthread")
        _made["data"] = pair.parent / "perf.data"
        run_perf("record", "-e", "cpu-clock", "-F", "997", "-g", "--sample-cpu", "-o", _made["data"], pair)
        text = run_perf("script", "-i", _made["data"], "-F", "comm,pid,tid,cpu,time", "-G").stdout
        _made["heads"] = re.findall(r"^\s*(\S.*?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+([\d.]+):", text, re.M)
        check(len(_made["heads"]) > 100, f"samples: {text[:400]}")
    return _made["data"]


def heads():
    recording()
    return _made["heads"]


def perf_words(words):
    """perf's names are those that both take."""
    return [{"--comm": "--comms", "--dso": "--dsos"}.get(word, word) for word in words]


def same_line(own, line, what):
    """Where a call is a function's last instruction perf shows the next function (docs/script.md), and entries of
    a PLT it calls by another's name."""
    if own != line and re.search(r"\+0x0 \(|_start|@plt", line):
        own, line = own.split()[0], line.split()[0]
    equal(own, line, f"a line of {what}")


def same_text(*words):
    told = run_perf("script", "-i", recording(), *perf_words(words)).stdout
    run = jitscope("script", *words, recording(), status=0 if told else 1)
    for own, line in itertools.zip_longest(run.out, told.splitlines()):
        same_line(own or "", line or "", f"script {words}")
    return told


def test_script_takes_what_perf_takes():
    whole = same_text()
    pids = sorted({head[1] for head in heads()})
    tids = sorted({head[2] for head in heads()})
    equal(len(pids), 2, f"processes {pids}")
    check(len(tids) >= 4, f"threads {tids}")
    times = [head[4] for head in heads()]
    quarter, half = times[len(times) // 4], times[len(times) // 2]
    taken = [same_text(*words) for words in (
        ["--comm", "pair"], ["-c", "child one"], ["--comms", "pair,[x]"], ["--comm", "again"], ["--comm", "[x]"],
        ["--pid", pids[0]], ["--pid", pids[1]], ["--tid", tids[-1]], ["--tid", ",".join(tids[:3])],
        ["--pid", pids[0], "--comm", "[x]"],
        ["--cpu", "0"], ["-C", heads()[0][3]],
        ["--dso", "pair"], ["--dsos", "libc.so.6"], ["--dso", "[kernel.kallsyms]"], ["--dso", "pair,libc.so.6"],
        ["--dso", "libc.so.6", "--tid", tids[-1]],
        ["--time", f"{quarter},{half}"], ["--time", f"{half},"], ["--time", f",{quarter}"], ["--time", ","],
        ["--time", f",{quarter} {half},"], ["--time", "10%"], ["--time", "10%/2"], ["--time", "10%-20%"],
        ["--time", "0%-10%,50%-60%"], ["--time", "10%/1,20%/3"])]
    check(sum(1 for text in taken if text and text != whole) > 15, "filters take some")
    equal(jitscope("script", "--pid", pids[0], "--pid", pids[1], recording()).out, jitscope("script", recording()).out,
          "an option twice")
    # perf has no word for it.
    run = jitscope("script", "--comm", r"a\, b", recording())
    names = {line[:4] for line in run.out if line and not line.startswith("\t")}
    equal(names, {"a, b"}, "a comma of a name")
    # --json takes the same.
    equal({each["comm"] for each in jitscope("script", "--json", "--comm", "again", recording()).objects("sample")},
          {"again"}, "--json: the name after exec")



def perf_rows(*words, keys="dso,sym"):
    text = run_perf("report", "-i", recording(), "--stdio", "-g", "none", "-s", keys, *perf_words(words)).stdout
    return {(name, share) for share, name in re.findall(r"^\s*([\d.]+)%.*\[[.k]\] (\S+)\s*$", text, re.M)
            if not name.endswith("@plt")}


def own_rows(*words, keys="dso,sym"):
    text = "\n".join(jitscope("report", "-i", recording(), "-s", keys, *words).out)
    return {(name, share) for share, name in re.findall(r"^\s*([\d.]+)%.*?(\S+)$", text, re.M)
            if not name.endswith("@plt")}, text


def test_report_has_the_shares_of_perf():
    for words in (["--comm", "pair"], ["--pid", heads()[0][1]], ["--comm", "pair", "--percentage", "relative"],
                  ["--cpu", heads()[0][3]], ["--time", "20%-60%"]):
        for kind in ([], ["--no-children"]):
            # perf has one row for threads that it takes and others, where the keys do not tell them apart.
            keys = "dso,sym" if words[0] in ("--cpu", "--time") else "comm,dso,sym"
            own, text = own_rows(*words, *kind, keys=keys)
            told = perf_rows(*words, *kind, keys=keys)
            # Of a stack that was caught in fork or exec, one of the two may know more.
            shown = int(re.search(r"^# Samples: (\d+)", text, re.M)[1])
            missing = [(name, share) for name, share in told if name in ("spin", "main", "work")
                       and not any(other == name and abs(float(part) - float(share)) <= 200 / shown
                                   for other, part in own)]
            check(told and not missing, f"{words} {kind}: {missing} not in {text}")
            check(text.startswith(f"# {words[0][2:]}: {words[1]}\n"), f"the head tells the filter: {text}")
            check("# Left out by filters:" in text, text)
    own, text = own_rows("-d", "libc.so.6", "--no-children")
    equal(own, perf_rows("--dsos", "libc.so.6", "--no-children"), text)
    # With those who called, rows are of the library alone, and count all that was on their stacks.
    own, text = own_rows("--dso", "pair")
    whole, _ = own_rows()
    check({name for name, _ in own} >= {"spin", "main", "work"} and own <= whole, text)
    for trees in (["-g"], ["--callers", "spin"], ["--callees", "main"]):
        run = jitscope("report", "-i", recording(), "--dso", "pair", *trees)
        check(any("spin" in line for line in run.out), run.story())
    run = jitscope("report", recording(), "--comm", "pair", "--json")
    head = run.objects("profile")[0]
    equal(head["samples"] + head["left_out"], len(heads()), "--json counts both")


def test_flame_and_doctor():
    comms = {head[0] for head in heads()}
    text = "\n".join(jitscope("flame", recording(), "--comm", "child one", "-o", "-.folded", "--per-thread").out)
    equal({line.split("-", 1)[0] for line in text.splitlines()}, {"child_one"}, f"of {comms}")
    run = jitscope("flame", recording(), "--dso", "libc.so.6", "-o", "-.folded")
    leaves = sum(int(line.rsplit(" ", 1)[1]) for line in run.out if line)
    told = run_perf("script", "-i", recording(), "--dsos", "libc.so.6", "-F", "period", "-G").stdout
    equal(leaves, len(told.split()), "samples that hit the library")
    check("left out by filters" in run.error, run.error)
    pid = heads()[0][1]
    expected = sum(1 for head in heads() if head[1] == pid)
    for words in (["-i", recording(), "-p", pid], ["--pid", pid, recording()], [recording(), "--pid", pid]):
        first = jitscope("doctor", "--json", *words).objects("diagnosis")[0]
        equal(first["samples"], expected, f"doctor {words}")
    run = jitscope("doctor", "99999999", status=1)
    check("no process" in run.error, f"a number is a live process: {run.error}")


def test_recording_as_a_word():
    folder = scratch()
    plain = jitscope("script", "-i", recording()).out
    equal(jitscope("script", recording()).out, plain, "script")
    equal(jitscope("report", recording(), "--sort", "dso").out,
          jitscope("report", "-i", recording(), "--sort", "dso").out, "report")
    equal(jitscope("doctor", recording()).out, jitscope("doctor", "-i", recording()).out, "doctor")
    jitscope("inject", recording(), "-o", folder / "out.data", status=1)  # no JIT code in it
    check((folder / "out.data").stat().st_size > 1000, "inject wrote it")
    for verb in ("script", "report", "doctor"):
        run = jitscope(verb, "-i", recording(), recording(), status=2)
        check("excludes" in run.error, run.error)
        run = jitscope(verb, folder / "absent", status=1)
        check("No such file" in run.error, run.error)
    with open(recording(), "rb") as source:
        run = subprocess.run([harness.JITSCOPE, "script", "-"], stdin=source, capture_output=True, text=True)
    equal(run.stdout.splitlines(), [line for line in plain][:len(run.stdout.splitlines())], "standard input")


def test_what_takes_nothing():
    for words in (["--comm", "nobody"], ["--pid", "4294967294"], ["--tid", "1"], ["--cpu", "100000-200000"],
                  ["--dso", "lib.so"], ["--time", "1,2"], ["--comm", "pair", "--comm", "x", "--tid", "1"]):
        for verb in (["script"], ["report"], ["doctor"], ["flame", "-o", "-.folded"]):
            run = jitscope(*verb, *words, *(["-i"] if verb[0] != "flame" else []), recording(), status=1)
            said = run.error + "\n".join(run.out)
            if verb == ["report"] and words[0] == "--dso":
                check("-s dso" in said, said)
            else:
                check(f"took none of the {len(heads())} samples" in said, f"{verb} {words}: {said}")


def test_what_is_refused():
    for words in (["--time", "5,1"], ["--time", "nan,"], ["--time", "18446744073709551616,"], ["--time", ""],
                  ["--time", "5"], ["--time", "20%-10%"], ["--time", "10%/11"], ["--comm", ""], ["--comm", "a,,b"],
                  ["--pid", "x"], ["--pid", "-1"], ["--tid", "18446744073709551616"], ["--cpu", "3-1"],
                  ["--cpu", "0-"], ["--dso", ","]):
        for verb in ("script", "report", "doctor", "flame"):
            words = words if verb != "doctor" or words[0] != "--pid" else [*words, "--cpu", "0"]
            run = jitscope(verb, *words, *([] if verb == "flame" else ["-i"]), recording(), status=2)
            check(words[0] in run.error, f"{verb} {words}: {run.error}")
    bare = scratch() / "perf.data"
    run_perf("record", "-e", "cpu-clock", "-o", bare, "true")
    run = jitscope("script", "--cpu", "0", bare, status=3)
    check("--sample-cpu" in run.error, run.error)
    # Lists as long as a command line may be.
    many = ",".join(str(each) for each in range(1, 20000))
    jitscope("script", "--tid", many, "--comm", many, "--dso", many, recording(), status=1)


def test_sort_keys_of_perf():
    for keys in ("comm", "cpu", "cpu,comm", "comm,dso", "comm,dso,sym"):
        told = run_perf("report", "-i", recording(), "--stdio", "-g", "none", "--no-children", "-t", "|", "-s", keys)
        told = [[word.strip() for word in line.split("|")] for line in told.stdout.splitlines()
                if line.strip() and line[0] != "#"]
        text = jitscope("report", recording(), "--no-children", "--sort", keys).out
        own = [re.split(r"\s{2,}", line.strip()) for line in text if line.strip() and line[0] != "#"]
        check(own and len(own) == len(told), f"{keys}: {text}")
        if "sym" not in keys:  # which has columns of ours
            # perf cuts names at the width of the title.
            told = sorted([row[0].rstrip("%"), *(word.lstrip("0")[:7] or "0" for word in row[1:])] for row in told)
            own = sorted([row[0].rstrip("%"), *(word[:7] for word in row[2:])] for row in own)
            equal(own, told, f"rows of {keys}")
    own = {(line.split()[-1].rsplit("/", 1)[-1], line.split("%")[0].strip())
           for line in jitscope("report", recording(), "--no-children", "-s", "srcline").out if "pair.c:" in line}
    told = run_perf("report", "-i", recording(), "--stdio", "-g", "none", "--no-children", "-s", "srcline").stdout
    told = {(line.split()[-1], line.split("%")[0].strip()) for line in told.splitlines() if "pair.c:" in line}
    equal(own, told, "rows by line")
    for keys, title in (("pid", "Process"), ("tid", "Thread"), ("symbol", "Method"), ("sym,srcline", "Source:Line")):
        check(title in "\n".join(jitscope("report", recording(), "-s", keys).out), keys)
    row = jitscope("report", recording(), "-s", "cpu,comm,srcline", "--json").objects("row")[0]
    check({"cpu", "comm"} <= set(row), f"{row}")
    check("srcline" in jitscope("report", recording(), "-s", "period", status=2).error, "keys are listed")


def test_fields_of_script():
    folder = scratch()
    recording()
    program = _made["data"].parent / "pair"
    run_perf("record", "-e", "cpu-clock", "-F", "499", "--sample-cpu", "-o", folder / "leaves", program)
    for data in (recording(), folder / "leaves"):
        for fields in ("comm,tid,time,event,ip,sym,dso", "comm,pid,tid,cpu,time,event", "ip,sym,symoff,dso", "comm,ip",
                       "ip", "comm", "pid", "tid,pid,period", "event,time", "sym,ip", "comm,,cpu", "-dso", "-ip",
                       "-comm,-tid,-cpu,-time,-event,-period", "-symoff,-time"):
            told = run_perf("script", "-i", data, "-F", fields).stdout.splitlines()
            own = jitscope("script", data, "-F", fields).out
            equal(len(own), len(told), f"lines of {fields}")
            for mine, line in zip(own, told):
                same_line(mine, line, f"script -F {fields}")
    plain = jitscope("script", recording()).out
    equal(jitscope("script", recording(), "-F", "comm,tid,cpu,time,event,period,ip,sym,symoff,dso").out, plain,
          "the fields of the default")
    equal(jitscope("script", recording(), "--fields", "+srcline").out, jitscope("script", recording(), "--lines").out,
          "+srcline is --lines")
    equal(jitscope("script", recording(), "--fields=+comm").out, plain, "what is there already")
    for words, says in ((["-F", ""], "empty"), (["-F", ","], "wants fields"), (["-F", "foo"], "comm,pid"),
                        (["-F", "hw:comm"], "hw:"), (["-F", "comm,+dso"], "+srcline"), (["-F", "comm,sym"], "ip"),
                        (["-F", "ip,symoff"], "sym"), (["-F", "comm", "--json"], "excludes")):
        check(says in jitscope("script", recording(), *words, status=2).error, f"{words}")
    check("tracepoints" in jitscope("script", recording(), "-F", "trace", status=3).error, "trace of none")
    run_perf("record", "-e", "cpu-clock", "-o", folder / "bare", "true")
    check("--sample-cpu" in jitscope("script", folder / "bare", "-F", "comm,cpu", status=3).error, "no CPU")


def test_header():
    whole = run_perf("report", "-i", recording(), "--header-only", "--stdio").stdout.splitlines()
    wanted = ("hostname", "os release", "perf version", "arch", "nrcpus", "cpudesc", "cpuid", "total memory", "cmdline",
              "time of", "sample duration", "captured on")
    told = {line.rstrip() for line in whole if line[2:].startswith(wanted)}
    for verb in ("script", "report"):
        only = jitscope(verb, recording(), "--header-only").out
        equal({line.rstrip() for line in only if line[2:].startswith(wanted)}, told, f"{verb}: what perf tells")
        check(any(line.startswith("# event : name = cpu-clock") for line in only), f"{only}")
        run = jitscope(verb, recording(), "--header").out
        equal(run[:len(only)], only, "the same comes first")
        equal(run[len(only):], jitscope(verb, recording()).out, "and then what is shown without")
        check("excludes" in jitscope(verb, recording(), "--header", "--json", status=2).error, "--json has no comments")
    with open(recording(), "rb") as source:
        pipe = subprocess.run([harness.JITSCOPE, "script", "-i", "-", "--header-only"], stdin=source, text=True,
                              capture_output=True)
    check("hostname" in pipe.stdout or pipe.returncode == 3, f"{pipe}")


harness.main(test_header, test_script_takes_what_perf_takes, test_report_has_the_shares_of_perf, test_flame_and_doctor,
             test_recording_as_a_word, test_sort_keys_of_perf, test_fields_of_script, test_what_takes_nothing, test_what_is_refused)
