"""Which sources of names count for a recorded process, and what is said of those that do not: short-lived JVMs,
dumps of another user's process that is gone, code that a program moved away from its file, advice by runtime."""

import collections
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess

import harness
from harness import PROGRAMS, Run, Skip, Target, check, equal, jitscope, wait_for
from profiles import (REGISTER_FIELDS, REGISTERS, arena_of, all_right, doctor, in_arena, jitscope_samples, perf_script,
                      program, record, run_jitscope, say, score_jitscope, true_name)
from runtimes import java_command, jdks, jit_page, node


def leaves(data):
    """(samples with a certain name, uncertain, nameless) by name or reason, of the leaves."""
    counts = collections.Counter()
    for sample in jitscope_samples(data):
        leaf = sample.leaf
        kind = "uncertain" if leaf.get("ambiguous") else "named" if leaf.get("method") else "nameless"
        counts[sample.pid, kind, leaf.get("method") or leaf.get("reason")] += 1
    return counts


def told(data, *options):
    lines = [json.loads(line) for line in run_jitscope("doctor", "-i", data, "--json", *options).stdout.splitlines()]
    return {kind: [line for line in lines if line["type"] == kind] for kind in ("complaint", "source", "note")}


# --- short-lived processes ------------------------------------------------------------------------------

def test_short_lived_jvms():
    """Every JVM whose code the recorder saw is named, however short it lived."""
    java = max(jdks().items())[1]
    data = harness.scratch() / "perf.data"
    command = " ".join(java_command(java, "Brief", flags=["-Xshare:auto", "-XX:TieredStopAtLevel=1"]))
    # Once as children of a shell, once in the place of a shell: the process began before its program did.
    run = jitscope("record", "-o", data, "--", "sh", "-c", f"for i in 1 2 3 4; do {command}; sh -c 'exec {command}'; done")
    seen = {int(pid) for pid in re.findall(r"process (\d+) \(java\): \d+ code bod", run.error)}
    check(len(seen) >= 2, f"JVMs that were seen: {run.error}")
    used = {source["pid"] for source in told(data)["source"] if source["used"]}
    equal(seen - used, set(), f"JVMs whose names were recorded and not used, of {len(seen)}")
    counts = leaves(data)
    named = {pid for pid, kind, name in counts if kind == "named" and name.startswith("Brief.churn")}
    late = sum(count for (_, kind, why), count in counts.items() if kind == "nameless" and "after the last look" in why)
    lost = {key: count for key, count in counts.items()
            if key[0] in seen and key[1] == "nameless" and "JIT code" in key[2]}
    equal(lost, {}, "samples of JIT code that nothing names, of JVMs that were seen")
    print(f"     {len(seen)} JVMs seen, {len(named)} with a named hot method, {late} samples after the last look",
          flush=True)
    check(named, f"{counts}")


def test_a_process_that_one_look_told_all_of():
    """What the first look found is all there is, and the process began after the recording did."""
    data = harness.scratch() / "perf.data"
    run = Run("record", "-o", data, "--", "sh", "-c", 'sh -c "exec $0"; true', jit_page())
    _, pid, page, count, stride = run.expect("ready ").split()
    path = pathlib.Path(f"/tmp/perf-{pid}.map")
    path.write_text("".join(f"{int(page, 0) + k * int(stride):x} {int(stride):x} page_f{k}\n" for k in range(int(count))))
    try:
        wait_for(lambda: any(pathlib.Path(f"{data}.jit").glob("*.dump")), "the recorder to look")
        run.send("go 30000000")
        run.expect("go ", 120)
        run.send("quit")
        run.result()
    finally:
        path.unlink()
    counts = {key[1:]: count for key, count in leaves(data).items() if key[0] == int(pid)}
    named = sum(count for (kind, name), count in counts.items() if kind == "named" and name.startswith("page_f"))
    nameless = sum(count for (kind, name), count in counts.items() if kind == "nameless" and "JIT" in name)
    check(named > 20 and nameless == 0, f"{counts}")
    used = [source for source in told(data)["source"] if source["pid"] == int(pid) and source["used"]]
    check(any(f"jit-{pid}-" in source["text"] for source in used), f"{used}")


# --- another user's process -----------------------------------------------------------------------------

def other_user(data_folder, *words):
    if os.geteuid() != 0 or not shutil.which("setpriv"):
        raise Skip("needs root and setpriv")
    binary = data_folder / "truth_jit"
    shutil.copy(program("truth_jit"), binary)
    os.chmod(binary, 0o755)
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", str(binary), *words]


def test_a_dump_of_another_user():
    """A server that ran as its own user, recorded by root with perf, and gone."""
    folder = harness.scratch("/var/tmp")
    dumps = folder / "dumps"
    dumps.mkdir()
    os.chown(dumps, 65534, 65534)
    recording = record(*other_user(folder, "--jitdump", str(dumps), "--functions", "600"),
                       options=("-a", *REGISTERS), frequency=999, directory=folder)
    dump = next(dumps.iterdir())
    equal(dump.stat().st_uid, 65534, "the owner of the dump")
    pid = int(re.search(r"jit-(\d+)", dump.name)[1])
    arena = arena_of(recording)
    told_by_perf = {(each.tid, each.time): each for each in perf_script(recording.data, fields=REGISTER_FIELDS)
                    if each.pid == pid and in_arena(each, arena)}

    def pairs():
        return [(told_by_perf[each.tid, each.time], each) for each in jitscope_samples(recording.data)
                if (each.tid, each.time) in told_by_perf]
    score = score_jitscope(pairs(), true_name)
    say("a dump of another user", "jitscope", score)
    all_right(score, "a dump of another user", 50)
    # One that anybody may write says nothing about the process.
    os.chmod(dump, 0o666)
    equal({bool(ours.leaf.get("method")) for _, ours in pairs()}, {False}, "names from a file that others may write")
    text = doctor(recording.data)
    check("belongs to user 65534, and others may write it" in text, text[-1500:])
    # Another file of that name is not what the process mapped.
    os.chmod(dump, 0o644)
    copy = dumps / "copy"
    shutil.copy(dump, copy)
    os.chown(copy, 65534, 65534)
    os.rename(copy, dump)
    text = doctor(recording.data)
    check("another file than the one that the process mapped" in text, text[-1500:])


# --- code that was moved --------------------------------------------------------------------------------

MOVED = "spin_in_moved_code"
ROUNDS = 400_000_000


class Mover(Target):
    def __init__(self):
        super().__init__([program("copied_text")])


def recorded(target, data, *options, before=(), after=()):
    for request in before:
        target.ask(request)
    run = Run("record", "-p", target.pid, "-o", data, *options)
    wait_for(lambda: any(line.startswith("recording ") for line in run.err), "the recorder to begin")
    for request in after:
        target.ask(request)
    run.interrupt()
    run.result()


def by_kind(data):
    """Of the samples in the moved code (all that are no library's or kernel's)."""
    result = collections.Counter()
    for (_, kind, name), count in leaves(data).items():
        if name == MOVED or kind == "nameless":
            result[kind] += count
    return result


def test_code_that_was_copied_over_its_mapping():
    spin = f"spin {ROUNDS}"
    for kind, before, after in (("fixed", (), ("move fixed", spin, spin)), ("fixed", ("move fixed",), (spin,)),
                                ("mremap", ("move mremap",), (spin,)), ("mremap", (), ("move mremap", spin))):
        data = harness.scratch() / "perf.data"
        with Mover() as target:
            recorded(target, data, before=before, after=after)
        found = by_kind(data)
        print(f"     {kind}, moved {'before' if before else 'while recording'}: {dict(found)}", flush=True)
        check(found["named"] > 20, f"{kind}: {found}")
        check(found["nameless"] <= 0.02 * found.total(), f"{kind}: {found}")
        # Until the recorder had compared it.
        check(found["uncertain"] < found["named"] if not before else found["uncertain"] == 0, f"{kind}: {found}")


def test_copied_code_without_a_follower():
    """Names of code that cannot be compared are marked; what was written over it has none."""
    spin = f"spin {ROUNDS}"
    data = harness.scratch() / "perf.data"
    with Mover() as target:
        recorded(target, data, "--no-follow", after=("move fixed", spin))
        living = by_kind(data)
    check(living["named"] > 20 and living["uncertain"] == 0, f"compared with the living process: {living}")
    gone = by_kind(data)
    check(gone["uncertain"] > 20 and gone["named"] == 0, f"the process is gone: {gone}")
    text = doctor(data)
    check("whether it was changed cannot be told" in text, text)
    with Mover() as target:
        recorded(target, data, "--no-follow", after=("move other", spin))
        other = by_kind(data)
    check(other["named"] == 0 and other["uncertain"] == 0 and other["nameless"] > 20, f"other code: {other}")


def test_node_on_large_pages():
    flags = ["--use-largepages=on", "--perf-basic-prof"]
    script = "const m = require('fs').readFileSync('/proc/self/maps', 'utf8'); console.log(m)"
    done = subprocess.run([node(), *flags, "-e", script], capture_output=True, text=True, cwd=harness.scratch())
    text = done.stdout.splitlines()
    binary = os.path.realpath(node())
    mine = [i for i, line in enumerate(text) if line.endswith(binary)]
    between = text[mine[0]:mine[-1]] if mine else []
    if not any(re.search(r" r.xp 00000000 00:00 0\s*$", line) for line in between):
        raise Skip("this node does not move its text to large pages")
    data = harness.scratch() / "perf.data"
    busy = "let s = ''; const end = Date.now() + 2500; while (Date.now() < end) s = JSON.stringify(JSON.parse('[1,2,[3]]')) + s.slice(0, 50)"
    jitscope("record", "-o", data, "--", node(), *flags, "-e", busy, cwd=harness.scratch())
    counts = collections.Counter()
    for (_, kind, _), count in leaves(data).items():
        counts[kind] += count
    print(f"     {dict(counts)}", flush=True)
    check(counts["nameless"] < 0.1 * counts.total(), f"{counts}")


# --- advice ---------------------------------------------------------------------------------------------

def test_advice_by_runtime():
    """A program that only has the name of a runtime, and code that nothing names."""
    folder = harness.scratch()
    for name, wanted, never in (("luajit", "luajit writes neither", "-x perf"), ("pypy3", "pypy writes neither", "--yjit"),
                                ("ruby3.1", "before 3.3 writes neither", "-x perf"), ("bun", "bun_jsc_usejitdump", "--perf-prof"),
                                ("something", "have the runtime write", "--perf-prof")):
        binary = folder / name
        shutil.copy(jit_page(), binary)
        os.chmod(binary, 0o755)
        with Target([binary]) as target:
            text = run_jitscope("doctor", "-p", target.pid, status=(1,)).stdout.lower()
        check(wanted in text and never not in text, f"{name}: {text}")


def test_a_recording_without_its_folder():
    data = harness.scratch() / "perf.data"
    jitscope("record", "-o", data, "--", program("truth_jit"), "--perf-map", "--functions", "600")
    check(pathlib.Path(f"{data}.jit").is_dir(), "names")
    moved = harness.scratch() / "moved.data"
    shutil.copy(data, moved)
    text = doctor(moved)
    check(f"{moved}.jit".lower() in text and "is missing" in text and "record with" not in text, text)
    shutil.copytree(f"{data}.jit", f"{moved}.jit")
    check("is missing" not in doctor(moved), "the folder is there")


harness.main(test_short_lived_jvms, test_a_process_that_one_look_told_all_of,
             test_a_dump_of_another_user, test_code_that_was_copied_over_its_mapping,
             test_copied_code_without_a_follower, test_node_on_large_pages, test_advice_by_runtime,
             test_a_recording_without_its_folder)
