"""Where names get lost: other namespaces, forked children, killed writers, clocks that do not fit.

Each test says by a source of its own what is true (registers, a jitdump read here, a perf map read here,
a log of the program), and what jitscope must say where it cannot know.
"""

import os
import pathlib
import shutil
import subprocess

import harness
from dumps import Dump, Map, find_dump
from harness import PROGRAMS, Child, Skip, check, equal, scratch, wait_for
from profiles import (REGISTER_FIELDS, REGISTERS, Score, all_right, arena_of, doctor, in_arena, in_elf,
                      inject, jitscope_samples, nothing_wrong, perf_script, program, record, run_perf,
                      same_samples, say, score_jitscope, score_perf, true_name)
from runtimes import node

NODE_FLAGS = ("--expose-gc", "--perf-basic-prof", "--perf-prof", "--interpreted-frames-native-stack")


def says(text, *words):
    """Each word, or one of several given as a tuple."""
    for word in words:
        alternatives = word if isinstance(word, tuple) else (word,)
        check(any(each in text for each in alternatives), f"doctor does not speak of {alternatives}: {text}")


def namespaces(*kinds):
    if os.geteuid() != 0 or not shutil.which("unshare"):
        raise Skip("needs root and unshare")
    return ["unshare", *kinds]


def dump_truth(dump, pids):
    def truth(sample):
        if sample.pid not in pids:
            return None
        load, overlapped = dump.at(sample.ip, sample.time)
        return None if load is None or overlapped else load.name
    return truth


def score_by_map(pairs, lines, pid):
    """Every sample at an address that the map knows has one of the names that the map has there."""
    score = Score()
    for told, ours in pairs:
        names = lines.ever_at(told.ip) if told.pid == pid and not in_elf(told) else None
        if names:
            given = ours.leaf.get("raw")
            truth = given if given in names else min(names)
            score.take(truth, given, ours.leaf.get("ambiguous", False), ours.candidates, f"at {told.ip:#x}")
    return score


# --- namespaces ----------------------------------------------------------------------------------------

INNER_MAP = pathlib.Path("/tmp/perf-1.map")


def in_pid_namespace(*words):
    if INNER_MAP.exists():
        raise Skip(f"there is a {INNER_MAP} that is not ours")
    return [*namespaces("--pid", "--fork", "--kill-child", "--mount-proc"), *map(str, words)]


def host_pid(samples, dump):
    """Of the process whose code the dump has."""
    pids = {sample.pid for sample in samples if dump.at(sample.ip, sample.time)[0]}
    equal(len(pids), 1, "processes with JIT samples")
    return pids.pop()


def test_pid_namespace():
    # Inside it is process 1: perf-1.map, jit-1.dump, and 1 in the dump's header and records.
    directory = scratch("/var/tmp")
    try:
        taken = record(*in_pid_namespace(node(), *NODE_FLAGS, PROGRAMS / "churn.js", 40, 30, directory / "log"),
                       directory=directory)
        dump_path = directory / "jit-1.dump"
        dump = Dump(dump_path)
        equal(dump.pid, 1, "the pid in the dump")
        told = perf_script(taken.data)
        pid = host_pid(told, dump)
        truth = dump_truth(dump, {pid})
        say("pid namespace", "perf script", score_perf(told, truth))
        injected = inject(taken, "pid namespace")
        if injected:
            say("pid namespace", "perf inject --jit", score_perf(perf_script(injected), truth))
        score = score_jitscope(same_samples(told, jitscope_samples(taken.data)), truth, "raw")
        say("pid namespace", "jitscope, the process gone", score)
        all_right(score, "pid namespace", 100)

        dump_path.rename(scratch("/var/tmp") / "jit-1.dump")
        pairs = same_samples(told, jitscope_samples(taken.data))
        score = score_by_map(pairs, Map(INNER_MAP), pid)
        say("pid namespace", "jitscope, gone, and no dump", score)
        equal(score.wrong, 0, "wrong names")
        if score.unnamed:
            says(doctor(taken.data), ("perf-map", "--jitdump"))
        pairs = same_samples(told, jitscope_samples(taken.data, "--perf-map", f"{pid}={INNER_MAP}"))
        score = score_by_map(pairs, Map(INNER_MAP), pid)
        say("pid namespace", "jitscope --perf-map", score)
        nothing_wrong(score, "pid namespace, --perf-map", 100)
        equal(score.unnamed, 0, "unnamed with --perf-map")
    finally:
        INNER_MAP.unlink(missing_ok=True)


def test_pid_namespace_of_a_living_process():
    # Whose map it is says /proc/PID/status, as long as the process is there.
    directory = scratch("/var/tmp")
    command = in_pid_namespace(node(), "--expose-gc", "--perf-basic-prof", PROGRAMS / "churn.js", 100000, 30,
                               directory / "log")
    try:
        with Child(command, cwd=directory) as child:
            equal(child.expect("ready ").split()[1], "1", "its pid inside")
            children = pathlib.Path(f"/proc/{child.pid}/task/{child.pid}/children")
            pid = int(wait_for(children.read_text, "the process in the namespace").split()[0])
            data = directory / "perf.data"
            run_perf("record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", 2000, "-p", pid, "-o", data, "--",
                     "sleep", 2)
            told = perf_script(data)
            pairs = same_samples(told, jitscope_samples(data))
            lines = Map(INNER_MAP)
        score = score_by_map(pairs, lines, pid)
        say("pid namespace, alive", "jitscope", score)
        nothing_wrong(score, "pid namespace, alive", 50)
        equal(score.unnamed, 0, f"unnamed: {score.examples}")
    finally:
        INNER_MAP.unlink(missing_ok=True)


def test_mount_namespace_that_is_gone():
    # Its /tmp was another; what it left there lies below a directory that --root names.
    root = scratch("/var/tmp")
    (root / "tmp").mkdir()
    directory = scratch("/var/tmp")
    inside = 'mount --bind "$0/tmp" /tmp && cd /tmp && exec "$@"'
    taken = record(*namespaces("--mount"), "sh", "-c", inside, root, node(), *NODE_FLAGS,
                   PROGRAMS / "churn.js", 40, 30, directory / "log", directory=directory)
    dump_path = find_dump(root / "tmp")
    dump = Dump(dump_path)
    told = perf_script(taken.data)
    truth = dump_truth(dump, {dump.pid})
    say("mount namespace, gone", "perf script", score_perf(told, truth))
    pairs = [pair for pair in same_samples(told, jitscope_samples(taken.data)) if not in_elf(pair[0])]
    score = score_jitscope(pairs, truth, "raw")
    equal((score.wrong, score.unnamed), (0, score.all), f"without --root: wrong, unnamed: {score.examples}")
    says(doctor(taken.data), "--root")
    score = score_jitscope(same_samples(told, jitscope_samples(taken.data, "--root", root)), truth, "raw")
    say("mount namespace, gone", "jitscope --root", score)
    all_right(score, "--root", 100)
    lines = Map(root / f"tmp/perf-{dump.pid}.map")
    dump_path.unlink()
    score = score_by_map(same_samples(told, jitscope_samples(taken.data, "--root", root)), lines, dump.pid)
    say("mount namespace, gone", "jitscope --root, map alone", score)
    nothing_wrong(score, "--root, map alone", 100)
    equal(score.unnamed, 0, f"unnamed: {score.examples}")


# --- fork, kill ------------------------------------------------------------------------------------------

def php():
    binary = shutil.which("php8.2") or shutil.which("php")
    if not binary:
        raise Skip("no php in PATH")
    modules = subprocess.run([binary, "-m"], capture_output=True, text=True, check=False).stdout
    if "pcntl" not in modules or "OPcache" not in modules:
        raise Skip("this php has no pcntl or no OPcache")
    return binary


def test_php_fork():
    # The child runs its parent's code, and what it compiles later is in its parent's map as well.
    switches = [word for each in ("enable_cli=1", "file_update_protection=0", "jit_buffer_size=32M",
                                  "jit=tracing", "jit_debug=0x10") for word in ("-d", "opcache." + each)]
    taken = record(php(), *switches, PROGRAMS / "fork.php", frequency=2000)
    runs = [(int(pid), name, int(begin), int(end)) for pid, name, begin, end in
            (line.split() for line in taken.out if line[0].isdigit())]
    parent, child = runs[0][0], next(run[0] for run in runs if run[1] == "child_only")
    path = pathlib.Path(f"/tmp/perf-{parent}.map")
    if not path.exists():
        raise Skip("this php writes no perf map: its JIT is not built in")
    try:
        lines = Map(path)
        told = perf_script(taken.data)
        pairs = same_samples(told, jitscope_samples(taken.data))
        unnamed = sum(bool(lines.ever_at(each.ip)) and each.frames[0].symbol == "[unknown]"
                      for each in told if each.pid == child)
        print(f"     php fork: perf script: {unnamed} of the child's samples unnamed")
        score = score_by_map([pair for pair in pairs if pair[0].pid == child], lines, child)
        say("php fork", "jitscope, the child", score)
        all_right(score, "php fork", 50)
        # The names are those of the functions that the program says it ran.
        for pid, name, begin, end in runs:
            if pid == child:
                names = {ours.leaf["raw"] for theirs, ours in pairs if theirs.pid == child
                         and begin <= theirs.time < end and "$" in (ours.leaf.get("raw") or "")}
                check(any(f"${name}$" in each for each in names), f"{name} is not among {names}")
    finally:
        path.unlink(missing_ok=True)


def test_node_killed():
    # Its writes were buffered: the dump may end in the middle of a record, the map did not.
    directory = scratch("/var/tmp")
    taken = record(node(), *NODE_FLAGS, PROGRAMS / "churn.js", 20, 60, directory / "log", "kill",
                   directory=directory, status=None)
    dump = Dump(find_dump(directory))
    path = pathlib.Path(f"/tmp/perf-{dump.pid}.map")
    try:
        told = perf_script(taken.data)
        pairs = same_samples(told, jitscope_samples(taken.data))
        score = score_jitscope(pairs, dump_truth(dump, {dump.pid}), "raw")
        say(f"node killed (dump {'cut' if dump.cut else 'whole'})", "jitscope", score)
        all_right(score, "what the dump still has", 100)
        score = score_by_map(pairs, Map(path), dump.pid)
        say("node killed", "jitscope, by the lines of the map", score)
        equal((score.wrong, score.unnamed), (0, 0), f"wrong, unnamed: {score.examples}")
    finally:
        path.unlink(missing_ok=True)


def arena_truth(taken):
    arena = arena_of(taken)
    return arena, lambda sample: true_name(sample) if in_arena(sample, arena) else None


def record_truth(*options, **more):
    directory = scratch("/var/tmp")
    return record(program("truth_jit"), "--jitdump", directory, *options, options=REGISTERS,
                  directory=directory, **more)


def test_cut_record():
    # Name, address and size of the last record are there, its code is not whole.
    taken = record_truth("--functions", 300, "--cut", status=None)
    check(Dump(find_dump(taken.directory)).cut, "the dump is cut")
    _, truth = arena_truth(taken)
    told = perf_script(taken.data, fields=REGISTER_FIELDS)
    score = score_jitscope(same_samples(told, jitscope_samples(taken.data)), truth)
    say("cut record", "jitscope", score)
    injected = inject(taken, "cut record")
    if injected:
        say("cut record", "perf inject --jit", score_perf(perf_script(injected, fields=REGISTER_FIELDS), truth))
    all_right(score, "cut record", 50)
    last = truth(next(sample for sample in reversed(told) if truth(sample)))
    check(sum(truth(sample) == last for sample in told) > 100, "the cut function was sampled")


# --- clocks ------------------------------------------------------------------------------------------------

def without_a_clock(what, taken, *advice):
    """What nothing ever overlapped is named for certain, the rest at most with a mark, and doctor says why."""
    arena, truth = arena_truth(taken)
    told = perf_script(taken.data, fields=REGISTER_FIELDS)
    pairs = same_samples(told, jitscope_samples(taken.data))
    score = score_jitscope(pairs, truth)
    say(what, "jitscope", score)
    inject(taken, what)
    nothing_wrong(score, what, 100)
    settled = [pair for pair in pairs if arena.start <= pair[0].ip < arena.permanent_end]
    all_right(score_jitscope(settled, truth), f"{what}: what needs no clock", 50)
    says(doctor(taken.data), *advice)


def test_another_clock():
    without_a_clock("no -k mono", record_truth("--functions", 2000, clock=()), "-k mono")


def test_arch_timestamps():
    without_a_clock("arch timestamps", record_truth("--functions", 2000, "--arch-timestamp"),
                    ("arch", "tsc"))


if __name__ == "__main__":
    harness.main(test_pid_namespace, test_pid_namespace_of_a_living_process, test_mount_namespace_that_is_gone,
                 test_php_fork, test_node_killed, test_cut_record, test_another_clock, test_arch_timestamps)
