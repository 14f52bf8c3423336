"""What ran, by a register of every sample, against what it is called: jitscope, and perf beside it.

truth_jit compiles functions over each other and keeps the number of the running one in r15. With its
jitdump no sample may be wrong; with its perf map alone none may be wrong and certain.
"""

import pathlib

import harness
from harness import check, equal, scratch
from profiles import (REGISTER_FIELDS, REGISTERS, all_right, arena_of, in_arena, inject, jitscope_samples,
                      nothing_wrong, parse_script, perf_script, program, record, run_jitscope, same_samples,
                      say, score_jitscope, score_perf, true_name)


def record_truth(*options, files=("dump",), more=(), **recording):
    directory = scratch("/var/tmp")
    words = [program("truth_jit"), *options]
    if "dump" in files:
        words += ["--jitdump", directory]
    if "map" in files:
        words += ["--perf-map"]
    return record(*words, *more, options=REGISTERS, directory=directory, **recording)


def truths(taken):
    """perf's samples and the truth of each."""
    arena = arena_of(taken)
    told = perf_script(taken.data, fields=REGISTER_FIELDS)
    return arena, told, lambda sample: true_name(sample) if in_arena(sample, arena) else None


def remove_maps(told):
    """What truth_jit left in /tmp."""
    for pid in {sample.pid for sample in told}:
        path = pathlib.Path(f"/tmp/perf-{pid}.map")
        path.unlink(missing_ok=True)


def with_dump(what, *options, at_least=500, perf=True, **more):
    taken = record_truth(*options, **more)
    _, told, truth = truths(taken)
    score = score_jitscope(same_samples(told, jitscope_samples(taken.data)), truth)
    say(what, "jitscope with the jitdump", score)
    if perf:
        injected = inject(taken, what)
        if injected:
            say(what, "perf inject --jit, perf script", score_perf(
                perf_script(injected, fields=REGISTER_FIELDS), truth))
    all_right(score, what, at_least)
    return taken, told


def test_dump():
    with_dump("recompiled over each other", "--functions", 5000, at_least=3000)


def test_dump_of_moved_code():
    with_dump("moved", "--functions", 1500, "--move")


def test_dump_of_protected_code():
    # Every mprotect is an executable mapping that begins anew over what lies there.
    with_dump("never writable and executable", "--functions", 1500, "--mprotect")


def test_dump_of_shared_memory():
    with_dump("/dev/zero (deleted)", "--functions", 1000, "--shared")


def test_dump_of_memfd():
    with_dump("/memfd:", "--functions", 1000, "--memfd", "--shared")


def test_dump_of_a_file_that_is_no_elf():
    place = scratch("/var/tmp") / "arena.bin"
    with_dump("a file that is no ELF", "--functions", 1000, "--file", place)


def test_dump_of_forked_child():
    # The child runs what it inherited while its parent writes over its own copy.
    taken, told = with_dump("fork, private", "--functions", 3000, "--fork")
    child = next(int(line.split()[1]) for line in taken.out if line.startswith("child "))
    arena = arena_of(taken)
    inherited = [sample for sample in told if sample.pid == child and in_arena(sample, arena)
                 and int(true_name(sample)[5:]) < 1_000_000]
    own = [sample for sample in told if sample.pid == child and in_arena(sample, arena)
           and int(true_name(sample)[5:]) >= 1_000_000]
    check(len(inherited) > 50 and len(own) > 50, f"{len(inherited)} samples of inherited code, {len(own)} "
                                                 "of the child's own")


def test_dump_of_child_that_shares():
    # The child runs what its parent goes on compiling in memory that both share.
    with_dump("fork, shared", "--functions", 2000, "--fork", "--shared")


def test_dump_before_and_after_exec():
    other = scratch("/var/tmp")
    again = [program("truth_jit"), "--jitdump", other, "--functions", 1000, "--first", 500_000, "--seed", 2]
    taken, told = with_dump("exec", "--functions", 1000, more=("--", *again))
    equal(len({sample.pid for sample in told if sample.comm == "truth_jit"}), 1, "processes")


def test_dump_with_lines():
    taken = record_truth("--functions", 800, "--debug-info")
    _, told, truth = truths(taken)
    pairs = same_samples(told, jitscope_samples(taken.data, "--lines"))
    all_right(score_jitscope(pairs, truth), "lines", 100)
    for theirs, ours in pairs:
        name = truth(theirs)
        if name:
            # Line 0 says that none is known.
            expected = ("truth.jit", int(name[5:])) if int(name[5:]) else (None, None)
            equal((ours.leaf.get("file"), ours.leaf.get("line")), expected, f"file and line of {name}")


def test_dump_given_by_option():
    # The recording knows where the dump was; here it has gone elsewhere since.
    taken = record_truth("--functions", 800)
    _, told, truth = truths(taken)
    other = scratch("/var/tmp")
    moved = [path.rename(other / path.name) for path in taken.directory.glob("jit-*.dump")]
    score = score_jitscope(same_samples(told, jitscope_samples(taken.data)), truth)
    equal((score.unnamed, score.wrong), (score.all, 0), "without the dump: unnamed, wrong")
    for given in (moved[0], other):
        score = score_jitscope(same_samples(told, jitscope_samples(taken.data, "--jitdump", given)), truth)
        all_right(score, f"--jitdump {given}", 100)


def test_map_alone():
    what = "its perf map alone"
    taken = record_truth("--functions", 5000, files=("map",))
    arena, told, truth = truths(taken)
    try:
        pairs = same_samples(told, jitscope_samples(taken.data))
        score = score_jitscope(pairs, truth)
        say(what, "jitscope", score)
        say(what, "perf script", score_perf(told, truth))
        nothing_wrong(score, what, 500)
        equal(score.unnamed, 0, f"unnamed: {score.examples}")
        # Not by calling everything ambiguous: what nothing overlapped has a name for certain.
        settled = [pair for pair in pairs if arena.start <= pair[0].ip < arena.permanent_end]
        all_right(score_jitscope(settled, truth), "what nothing overlapped, by the map alone", 100)
        marks_are_shown(taken.data, pairs, arena)
    finally:
        remove_maps(told)


def marks_are_shown(data, pairs, arena):
    """The text has a `?` behind the names that the JSON calls ambiguous."""
    shown = list(parse_script(run_jitscope("script", "-i", data).stdout.splitlines()))
    equal(len(shown), len(pairs), "samples in the text")
    text = run_jitscope("script", "-i", data).stdout
    marked = sum("?" in line for line in text.splitlines() if "func_" in line)
    equal(marked, sum(bool(ours.leaf.get("ambiguous")) for told, ours in pairs if in_arena(told, arena)),
          "names with a question mark")


def test_map_and_dump():
    # Both say the same: the dump, which knows when, decides.
    taken = record_truth("--functions", 1500, files=("dump", "map"))
    _, told, truth = truths(taken)
    try:
        all_right(score_jitscope(same_samples(told, jitscope_samples(taken.data)), truth), "map and dump", 100)
    finally:
        remove_maps(told)


def test_map_made_offline():
    # Offsets in the file that is mapped: what it is called by, rebased by the mapping.
    place = scratch("/var/tmp") / "image.bin"
    lines = place.with_suffix(".map")
    taken = record_truth("--functions", 300, "--file", place, "--map-offsets", "--perf-map-file", lines,
                         files=())
    arena, told, truth = truths(taken)
    pairs = same_samples(told, jitscope_samples(taken.data, "--map", f"{place}={lines}:base=file"))
    score = score_jitscope(pairs, truth)
    say("an offline map of a file", "jitscope", score)
    nothing_wrong(score, "offline map", 100)
    settled = [pair for pair in pairs if arena.start <= pair[0].ip < arena.permanent_end]
    all_right(score_jitscope(settled, truth), "what nothing overlapped, by the offline map", 20)


def test_registers():
    taken = record_truth("--functions", 300)
    _, told, _ = truths(taken)
    for theirs, ours in same_samples(told, jitscope_samples(taken.data)):
        equal({name: ours.registers.get(name) for name in ("r15", "ip")} if theirs.registers else {},
              theirs.registers, "user registers")


if __name__ == "__main__":
    harness.main(test_dump, test_dump_of_moved_code, test_dump_of_protected_code, test_dump_of_shared_memory,
                 test_dump_of_memfd, test_dump_of_a_file_that_is_no_elf, test_dump_of_forked_child,
                 test_dump_of_child_that_shares, test_dump_before_and_after_exec, test_dump_with_lines,
                 test_dump_given_by_option, test_map_alone, test_map_and_dump, test_map_made_offline,
                 test_registers)
