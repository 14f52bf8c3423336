"""Programs built by mingw, under Wine: their functions have names by their COFF symbols, or by the bounds of their
functions where they are stripped; whether a loader maps their sections from the file or copies them; started by the
recorder, attached to, and recorded by perf. Wine's own DLLs have their names, and nothing of an image is JIT code.
"""

import collections
import math
import pathlib
import subprocess

import harness
import profiles
import wine
from harness import check, equal, jitscope, scratch, wait_for
from inject_test import agree, inject

NAMED = 0.99
KERNEL = 1 << 63
SIGMAS = 4.5  # how far chance may take a share: the more samples, the nearer it must be
FEWEST = 150   # samples: a busy machine gives the program less of its CPUs, and slack grows with chance

Form = collections.namedtuple("Form", "name alignment stripped")
FORMS = [Form("mapped.exe", 4096, False), Form("copied.exe", 512, False),
         Form("mapped_stripped.exe", 4096, True), Form("copied_stripped.exe", 512, True)]


def leaves_of(data, pid):
    """The leaves of the process's user samples."""
    return [each.leaf for each in profiles.jitscope_samples(data) if each.pid == pid and each.ip < KERNEL]


def lies_in(leaf, name):
    return pathlib.PurePath(leaf.get("dso", "")).name == name


def pid_in(data, program):
    return next(each.pid for each in profiles.jitscope_samples(data) if lies_in(each.leaf, program.name))


def shares_are_right(more, less, what):
    """Samples of the hot functions are drawn with their true shares."""
    all_of_them, wanted = more + less, wine.SHARE / (1 + wine.SHARE)
    check(all_of_them >= FEWEST, f"{what}: few samples")
    slack = SIGMAS * math.sqrt(wanted * (1 - wanted) / all_of_them)
    check(abs(more / all_of_them - wanted) < slack, f"{what}: {more / all_of_them:.3f} is not {wanted} +- {slack:.3f}")


def names_are_right(form, program, data, pid, least=FEWEST):
    leaves = leaves_of(data, pid)
    check(len(leaves) >= least, f"{form.name}: {len(leaves)} samples only")
    named = [leaf for leaf in leaves if leaf.get("method")]
    check(len(named) >= NAMED * len(leaves),
          f"{form.name}: {len(leaves) - len(named)} of {len(leaves)} without a name, such as "
          f"{next((leaf for leaf in leaves if not leaf.get('method')), None)}")
    own = [leaf for leaf in named if lies_in(leaf, program.name)]
    sources = {leaf["source"] for leaf in own}
    count = collections.Counter(leaf["method"] for leaf in own)
    if form.stripped:
        equal(sources, {"function bounds"}, f"{form.name}: sources")
        hot = {name: f"{program.name}+{address:#x}" for name, address in form_symbols(form).items()}
    else:
        equal(sources, {"pe symbol"}, f"{form.name}: sources")
        hot = {name: name for name in ("hot_static", "hot_global")}
    shares_are_right(count[hot["hot_global"]], count[hot["hot_static"]], f"{form.name}: {count.most_common(4)}")
    rest = len(own) - sum(count[name] for name in hot.values())
    check(rest < 0.05 * len(own), f"{form.name}: {rest} of {len(own)} elsewhere: {count.most_common(6)}")
    return leaves


_symbols = {}


def form_symbols(form):
    """Of the form that is not stripped: compiler and linker give both the same addresses."""
    if form.alignment not in _symbols:
        _symbols[form.alignment] = wine.symbols(wine.build("whole.exe", form.alignment, False))
    return _symbols[form.alignment]


def caller_runs(alignment, stripped):
    """A program with its DLL, under way."""
    program, library = wine.build_with_library(alignment, stripped)
    child = harness.Child([wine.binary(), program], env=wine.environment(), cwd=program.parent)
    child.expect("ready")
    return child, wait_for(lambda: wine.pid_of(program), "the program among the processes"), library


def exports_and_bounds_name_a_dll():
    child, pid, library = caller_runs(512, True)
    with child:
        data = scratch("/var/tmp") / "perf.data"
        ended = jitscope(*events(data), "-d", "2s", "-p", pid, limit=120)
        told = "\n".join(ended.err)
        check(f"process {pid} (caller.exe): of Wine;" in told and "no perf map" not in told, told)
        leaves = leaves_of(data, pid)
        count = collections.Counter((leaf["method"], leaf["source"]) for leaf in leaves if lies_in(leaf, library.name))
        (exported, more), (hidden, less) = count.most_common(2)
        check(len(leaves) >= FEWEST and more + less >= NAMED * len(leaves), f"{count} of {len(leaves)}")
        equal(exported[0], "hot_global", "the exported function")
        check(hidden[0].startswith("work.dll+0x"), f"{hidden}: the other one")
        equal((exported[1], hidden[1]), ("nearest export", "function bounds"), "sources")
        shares_are_right(more, less, f"{library.name}: {count}")


def what_is_missing_is_said():
    child, pid, library = caller_runs(512, False)
    with child:
        told = [each for each in jitscope("ps", "--json").objects() if each["pid"] == pid]
        equal([each["runtime"] for each in told], ["Wine"], "ps")
        check("python" not in str(told), told)
        check("jitscope record" in "".join(jitscope("doctor", "-p", pid).out), "doctor -p")
        for options, wanted in (((), False), (("-d",), True)):
            data = scratch("/var/tmp") / "perf.data"
            profiles.run_perf("record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "999", *options, "-p", pid,
                              "-o", data, "--", "sleep", "1")
            leaves = leaves_of(data, pid)
            named = sum(lies_in(leaf, library.name) and leaf["source"] == "pe symbol" for leaf in leaves)
            if wanted:
                check(named >= NAMED * len(leaves) > 0, f"perf record -d: {named} of {len(leaves)}")
            else:
                advice = profiles.doctor(data)
                check("perf record -d" in advice and "python" not in advice, advice)


def events(data):
    return ("record", "-o", data, "-e", "cpu-clock", "-F", "999")


def started_by_the_recorder():
    for form in FORMS:
        program = wine.build(form.name, form.alignment, form.stripped)
        data = scratch("/var/tmp") / "perf.data"
        jitscope(*events(data), "--", wine.binary(), program, "2", env=wine.environment(), limit=120)
        names_are_right(form, program, data, pid_in(data, program))


def attached_to():
    for form in FORMS:
        program = wine.build(form.name, form.alignment, form.stripped)
        data = scratch("/var/tmp") / "perf.data"
        with harness.Child([wine.binary(), program, "60"], env=wine.environment()) as child:
            child.expect("ready")
            wait_for(lambda p=program: wine.pid_of(p), f"{form.name} among the processes")
            pid = wine.pid_of(program)
            jitscope(*events(data), "-d", "2s", "-p", pid, limit=120)
            names_are_right(form, program, data, pid)
            if form is FORMS[0]:
                told = profiles.doctor(data)
                check(f"{program}: coff symbols" in told, told)


def recorded_by_perf():
    form = FORMS[1]
    program = wine.build(form.name, form.alignment, form.stripped)
    recording = perf_of(program)
    names_are_right(form, program, recording, pid_in(recording, program))


def perf_shows_the_same_after_inject():
    for form in (FORMS[1], FORMS[2]):
        data = perf_of(wine.build(form.name, form.alignment, form.stripped))
        agree(form.name, data, inject(data), FEWEST)


def perf_of(program):
    data = scratch("/var/tmp") / "perf.data"
    perf = subprocess.run(["perf", "record", "-q", "-k", "mono", "-e", "cpu-clock", "-F", "999", "-o", data, "--",
                           wine.binary(), program, "2"], env=wine.environment(), check=False, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120 * harness.TIME_FACTOR)
    equal(perf.returncode, 0, f"perf record: {perf.stderr[-300:]}")
    return data


def a_split_debug_file_names_a_stripped_program():
    for form in FORMS[:2]:
        program = wine.build(form.name, form.alignment, False)
        debug = wine.split(program)
        data = scratch("/var/tmp") / "perf.data"
        jitscope(*events(data), "--", wine.binary(), program, "2", env=wine.environment(), limit=120)
        pid = pid_in(data, program)
        names_are_right(form, program, data, pid)
        hot = [each.leaf for each in profiles.jitscope_samples(data, "--lines") if lies_in(each.leaf, program.name)]
        with_line = sum(leaf.get("file", "").endswith(".c") and leaf.get("line", 0) > 0 for leaf in hot)
        check(with_line >= NAMED * len(hot) > 0, f"{form.name}: {with_line} of {len(hot)} with lines")
        # In .debug it is found as well; another file of its name is not believed.
        (program.parent / ".debug").mkdir()
        moved = debug.rename(program.parent / ".debug" / debug.name)
        names_are_right(form, program, data, pid)
        moved.write_bytes(moved.read_bytes() + b"x")
        sources = {leaf["source"] for leaf in leaves_of(data, pid) if leaf["method"] and lies_in(leaf, program.name)}
        equal(sources, {"function bounds"}, "with a debug file of another checksum")
        advice = profiles.doctor(data)
        check("another checksum" in advice, advice)


def wines_own_libraries_have_names_and_lines():
    program = wine.build("mapped.exe", 4096, False)
    data = scratch("/var/tmp") / "perf.data"
    jitscope(*events(data), "--", wine.binary(), program, "1", env=wine.environment(), limit=120)
    names, lines = collections.Counter(), 0
    for each in profiles.jitscope_samples(data, "--lines"):
        leaf = each.leaf
        if lies_in(leaf, "ntdll.dll") or lies_in(leaf, "kernelbase.dll"):
            names[bool(leaf.get("method"))] += 1
            lines += bool(leaf.get("line"))
    check(names[True] > 0 and names[False] <= 0.05 * names[True], f"names in Wine's DLLs: {names}")
    check(lines > 0, "no lines in Wine's DLLs")


harness.main(started_by_the_recorder, attached_to, recorded_by_perf, perf_shows_the_same_after_inject,
             exports_and_bounds_name_a_dll, what_is_missing_is_said, a_split_debug_file_names_a_stripped_program,
             wines_own_libraries_have_names_and_lines)
