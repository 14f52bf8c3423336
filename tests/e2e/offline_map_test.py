"""Maps that users give of mapped files that are no ELF (`--map`), against a loader that knows which code lay where
(tests/programs/foreign_loader.cc): flat files, whole and in part, PE files by sections, copies in memory. Every sample in
its functions has the right name, or none with the reason; maps that are of no use are told in one line.
"""

import collections
import os
import pathlib
import struct

import harness
from harness import Skip, check, equal, scratch
from inject_test import agree, inject
from profiles import (BASE, REGISTER_FIELDS, REGISTERS, all_right, doctor, jitscope_samples, perf_script, program, record,
                      run_jitscope, same_samples, say, score_jitscope)

SIZE = 0x100  # of a function
FUNCTIONS = 64
NOT_CERTAIN = "where the image of the map given for the file begins is not certain"
WITHOUT_MAP = "a mapped file that is no ELF, without a map"

Taken = collections.namedtuple("Taken", "data folder image pid told truth")


def taken(way, *options):
    """A recording of the loader, and what is true of a sample in its functions."""
    folder = scratch("/var/tmp")
    # The header of a PE image is mapped as data.
    made = record(program("foreign_loader"), way, folder, *options, options=(*REGISTERS, "-d"), directory=folder,
                  frequency=2000)
    parts = [(int(start, 16), int(end, 16), int(first)) for word, start, end, first in
             (line.split() for line in made.out if line.startswith("mapped "))]
    pid = int(made.out[0].split()[1])
    called = {int(line.split()[1]) for line in made.out if line.startswith("calls ")}

    def truth(sample):
        for start, end, first in parts:
            if sample.pid == pid and start <= sample.ip < end:
                number = first + (sample.ip - start) // SIZE
                inside = sample.registers["r15"] - BASE
                check(number in called and (inside == number or not 0 <= inside < FUNCTIONS),
                      f"the register says {inside}, the address {number}")
                return f"truth_{number}"
        return None

    told = perf_script(made.data, fields=REGISTER_FIELDS)
    return Taken(made.data, folder, folder / "image", pid, told, truth)


def named(run, *options):
    return same_samples(run.told, jitscope_samples(run.data, *options))


def by_map(run, lines, base=None, image=None):
    return ("--map", f"{image or run.image}={lines}" + (f":base={base}" if base else ""))


def right(run, what, *options):
    score = score_jitscope(named(run, *options), run.truth)
    say(what, "jitscope", score)
    all_right(score, what, 200)


def reasons(run, *options):
    """Of the samples in the loader's functions; those that have a name count by their source."""
    found = collections.Counter()
    for told, ours in named(run, *options):
        if run.truth(told):
            found[ours.leaf.get("reason") or ours.leaf["source"]] += 1
    return found


def notes(run, *options):
    return [line for line in run_jitscope("report", "-i", run.data, *options).stderr.splitlines() if "map " in line]


def absolute(run):
    """The same map with the addresses of the process."""
    path = pathlib.Path(f"/tmp/perf-{run.pid}.map")
    copy = run.folder / "absolute.map"
    copy.write_bytes(path.read_bytes())
    path.unlink()
    return copy


def every_way(way, *bases):
    run = taken(way, "--perf-map")
    try:
        right(run, f"{way}: perf map", *())
    finally:
        lines = absolute(run)
    right(run, f"{way}: --map, base=absolute", *by_map(run, lines, "absolute"))
    for base in bases:
        right(run, f"{way}: --map, base={base}", *by_map(run, run.folder / f"{base}.map", base))
        right(run, f"{way}: --map, base={base}, by its base name", *by_map(run, run.folder / f"{base}.map", base, "image"))
        equal(notes(run, *by_map(run, run.folder / f"{base}.map", base)), [], "notes")
    options = by_map(run, run.folder / f"{bases[-1]}.map", bases[-1])
    agree(f"{way}: what perf shows of inject's output", run.data, inject(run.data, *options), 200, *options)
    return run


def a_flat_file():
    run = every_way("flat", "file", "rva")
    right(run, "flat: no base", *by_map(run, run.folder / "file.map"))
    said = run.folder / "said.map"
    said.write_text(f"# size: {run.image.stat().st_size}\n# base: rva\n" + (run.folder / "rva.map").read_text())
    right(run, "flat: a map that says what it is for", *by_map(run, said))


def a_file_that_is_mapped_twice():
    every_way("twice", "file", "rva")


def a_file_from_its_middle():
    every_way("middle", "file", "rva")


def a_file_in_pieces():
    run = every_way("pieces", "file")
    found = reasons(run, *by_map(run, run.folder / "rva.map", "rva"))
    equal(set(found), {NOT_CERTAIN, "offline map"}, "what the samples have")
    check(found[NOT_CERTAIN] > 2 * found["offline map"], f"three of four pieces: {found}")
    score = score_jitscope([(told, ours) for told, ours in named(run, *by_map(run, run.folder / "rva.map", "rva"))
                            if ours.leaf.get("method")], run.truth)
    all_right(score, "the piece that begins the file", 100)


def a_pe_file_by_sections():
    run = every_way("pe", "file", "rva")
    # Nothing in the file says where functions begin.
    for name in ("file", "rva"):
        equal(set(reasons(run, *by_map(run, run.folder / f"{name}.map"))), {"the base of the map given for the file is not known"},
              "a map without a base")
    told = notes(run, *by_map(run, run.folder / "rva.map"))
    check(len(told) == 1 and "0.0 % begin where functions do as RVAs, 0.0 % as file offsets" in told[0], f"notes: {told}")


def sections_that_were_copied_to_memory():
    every_way("copied", "file", "rva")


def with_functions(run):
    """The loader's PE file with a table of functions; it must be the file that ran."""
    data = bytearray(run.image.read_bytes())
    rows = b"".join(struct.pack("<III", rva, rva + SIZE, 0) for rva in sorted(
        int(line.split()[0], 16) for line in (run.folder / "rva.map").read_text().splitlines()))
    # Behind the headers, in a section of its own.
    struct.pack_into("<H", data, 0x86, 3)
    struct.pack_into("<8sIIII12xI", data, 0x188 + 80, b".pdata", len(rows), 0x400, len(rows), 0x400, 0x40000040)
    struct.pack_into("<I", data, 0x98 + 108, 16)
    struct.pack_into("<II", data, 0x98 + 112 + 24, 0x400, len(rows))
    data[0x400:0x400 + len(rows)] = rows
    before = run.image.stat()
    with open(run.image, "r+b") as file:
        file.write(data)
    os.utime(run.image, ns=(before.st_atime_ns, before.st_mtime_ns))


def a_base_that_the_functions_tell():
    run = taken("pe")
    with_functions(run)
    equal(set(reasons(run)), {"function bounds"}, "without a map")
    for name, other in (("file", "rva"), ("rva", "file")):
        lines = run.folder / f"{name}.map"
        right(run, f"pe: no base, {name} it is", *by_map(run, lines))
        wrong = by_map(run, lines, other)
        equal(set(reasons(run, *wrong)), {"function bounds"}, "a map with another base than was said")
        told = notes(run, *wrong)
        shares = "0.0 % begin where functions do as RVAs, 100.0 %" if name == "file" else "100.0 % begin where functions do as RVAs, 0.0 %"
        check(len(told) == 1 and f"its base is not {other}: of its {FUNCTIONS} lines {shares}" in told[0], f"notes: {told}")
    both = run.folder / "both.map"
    both.write_text("".join((run.folder / f"{name}.map").read_text() for name in ("file", "rva")))
    told = notes(run, *by_map(run, both))
    check(len(told) == 1 and "50.0 % begin where functions do as RVAs, 50.0 % as file offsets" in told[0], f"notes: {told}")


def a_perf_map_belongs_to_root_or_the_user():
    if os.geteuid() != 0:
        raise Skip("needs root to give files away")
    for way, reason in (("flat", None), ("pe", WITHOUT_MAP)):
        run = taken(way, "--perf-map")
        path = pathlib.Path(f"/tmp/perf-{run.pid}.map")
        try:
            right(run, f"{way}: root's perf map")
            os.chown(path, 65534, 65534)
            found = reasons(run)
            check("perf map" not in found and len(found) == 1, f"a stranger's map: {found}")
            check(reason in (None, *found), f"the reason: {found}")
            check(str(path) in doctor(run.data), "doctor tells of the map")
            right(run, f"{way}: a stranger's perf map with --force", "--force")
        finally:
            path.unlink()


def maps_of_no_use():
    run = taken("flat", "--milliseconds", 500)
    lines = run.folder / "odd.map"
    for text, says in ((b"", "it is empty"), (os.urandom(4096), "can be read as"), (b"9000000 10 far\n", "holds any of the addresses"),
                       (b"# size: 7\n0 4000 all\n", "made for an image of 7 bytes, it has 16384"),
                       (b"# build-id: 00\n# base: rva\n9000000 1 far\n", "holds any of the addresses")):
        lines.write_bytes(text)
        told = notes(run, *by_map(run, lines))
        check(len(told) == 1 and says in told[0] and str(lines) in told[0], f"{text[:20]}: {told}")
        check("offline map" not in reasons(run, *by_map(run, lines)), "no name comes from it")
    told = notes(run, *by_map(run, run.folder / "rva.map", image="/nowhere/image"))
    check(len(told) == 1 and "no process mapped a file of that name" in told[0], f"notes: {told}")
    for text, status, says in ((f"{run.image}=/nonexistent", 1, "/nonexistent"), (f"/nonexistent={run.folder}", 3, "regular file"),
                               (f"{run.image}", 2, "FILE=PATH"), (f"{run.image}={lines}:base=up", 2, "knows no base")):
        done = run_jitscope("script", "-i", run.data, "--map", text, status=(status,))
        check(says in done.stderr and not done.stdout, f"{text}: {done.stderr}")
    lines.write_text("# guid: 12-34\n0 10 f\n")
    done = run_jitscope("script", "-i", run.data, *by_map(run, lines), status=(3,))
    check("makes no sense" in done.stderr, f"an identity that is none: {done.stderr}")


if __name__ == "__main__":
    harness.main(a_flat_file, a_file_that_is_mapped_twice, a_file_from_its_middle, a_file_in_pieces, a_pe_file_by_sections,
                 sections_that_were_copied_to_memory, a_base_that_the_functions_tell,
                 a_perf_map_belongs_to_root_or_the_user, maps_of_no_use)
