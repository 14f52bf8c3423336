"""Files that nobody should trust: perf maps that are links, FIFOs or another user's, lines and records with
sizes that wrap, dumps that loop, recordings with broken bytes. jitscope ends soon, within a bounded
memory, names nothing by them that it should not, and doctor says which file it refused and why.
"""

import os
import pathlib
import random
import struct
import time

import harness
from dumps import find_dump
from harness import Skip, check, equal, scratch
from profiles import (REGISTER_FIELDS, REGISTERS, Score, arena_of, doctor, in_arena, jitscope_samples,
                      perf_script, program, record, run_jitscope, say, true_name)

MEMORY = 1 << 30  # bytes of data that a run may take
LIMIT = 60

_victim = None


class Victim:
    """A recording of truth_jit with no map at its place, and its dump elsewhere."""

    def __init__(self):
        directory = scratch("/var/tmp")
        self.taken = record(program("truth_jit"), "--functions", 300, "--jitdump", directory, options=REGISTERS,
                            directory=directory)
        self.ended = time.time()
        self.data = self.taken.data
        self.arena = arena_of(self.taken)
        self.dump = find_dump(directory).rename(scratch("/var/tmp") / "right.dump")
        self.told = perf_script(self.data, fields=REGISTER_FIELDS)
        self.pid = next(sample.pid for sample in self.told if in_arena(sample, self.arena))
        self.map = pathlib.Path(f"/tmp/perf-{self.pid}.map")
        if os.path.lexists(self.map):
            raise Skip(f"there is a {self.map} that is not ours")

    def names(self, *options):
        """The names of the samples in the arena: (name, ambiguous, true name)."""
        ours = jitscope_samples(self.data, *options, memory=MEMORY, limit=LIMIT)
        equal(len(ours), len(self.told), "samples")
        return [(mine.leaf.get("method"), bool(mine.leaf.get("ambiguous")), true_name(told))
                for told, mine in zip(self.told, ours) if in_arena(told, self.arena)]

    def written_in_time(self):
        """The map's time is of when the process ran: it is not refused as another process's."""
        os.utime(self.map, (self.ended, self.ended), follow_symlinks=False)

    def line(self, name="evil"):
        return f"{self.arena.start:x} {self.arena.end - self.arena.start:x} {name}\n"


def victim():
    global _victim
    if _victim is None:
        _victim = Victim()
    return _victim


def remove(path):
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    elif os.path.lexists(path):
        path.unlink()


def refused(what, make, *words):
    """A map that must not be used: no name from it, and the reason told."""
    target = victim()
    try:
        make(target.map)
        target.written_in_time()
        names = target.names()
        check(len(names) > 200, f"{what}: {len(names)} samples in the arena")
        used = [name for name, _, _ in names if name]
        equal(used[:3], [], f"{what}: names from a map that must not be used")
        text = doctor(target.data, memory=MEMORY, limit=LIMIT)
        check(any(word in text for word in words) and target.map.name in text,
              f"{what}: doctor speaks of {target.map.name} and of one of {words}: {text}")
    finally:
        remove(target.map)


def test_map_that_is_a_link():
    place = scratch("/var/tmp") / "perf.map"
    place.write_text(victim().line())
    os.utime(place, (victim().ended, victim().ended))
    refused("link to a map", lambda path: path.symlink_to(place), "symbolic link", "symlink")


def test_map_that_is_a_link_to_nowhere():
    refused("dangling link", lambda path: path.symlink_to("/nowhere/at/all"), "symbolic link", "symlink")


def test_map_that_is_a_fifo():
    # Opening it for reading would wait for a writer, for ever.
    refused("FIFO", os.mkfifo, "fifo", "regular file", "pipe")


def test_map_that_is_a_directory():
    refused("directory", os.mkdir, "directory", "regular file")


def test_map_of_another_user():
    if os.geteuid() != 0:
        raise Skip("needs root to give a file away")

    def make(path):
        path.write_text(victim().line())
        os.chown(path, 65534, 65534)
    refused("another user's map", make, "owner", "owned", "belongs")


def bounded_map(what, text):
    """A map that may be used, as far as it makes sense: it ends, and is not believed against itself."""
    target = victim()
    try:
        target.map.write_bytes(text)
        target.written_in_time()
        names = target.names()
        print(f"     {what}: {len(text)} bytes, {sum(bool(name) for name, _, _ in names)} of {len(names)} "
              "samples named")
        doctor(target.data, memory=MEMORY, limit=LIMIT)
        return names
    finally:
        remove(target.map)


def test_map_with_sizes_that_wrap():
    target = victim()
    start = target.arena.start
    huge = (1 << 64) - 1
    lines = [f"{address:x} {size:x} wraps_{i}" for i, (address, size) in enumerate(
        [(start, huge), (huge, huge), (0, huge), (start + 8, huge - start), (huge, 1), (1, huge)])]
    lines += [f"{start + 16:x} {'f' * 40} too_long", f"{'1' * 40} 10 too_far", f"-{start:x} 10 minus",
              f"{start:x}", f"{start:x} ", "", " ", "x y z"]
    names = bounded_map("sizes that wrap", "\n".join(lines).encode())
    check(all(ambiguous for name, ambiguous, _ in names if name), f"certain by such lines: {names[:3]}")


def test_map_of_overlapping_lines():
    # Each line covers the whole arena: the time to load it must not grow by the square.
    target = victim()
    text = "".join(target.line(f"cover_{i}") for i in range(200_000)).encode()
    names = bounded_map("200,000 lines at one place", text)
    check(names and all(ambiguous for _, ambiguous, _ in names), "a name of 200,000 is certain")


def test_map_of_nested_lines():
    target = victim()
    start, size = target.arena.start, target.arena.end - target.arena.start
    text = "".join(f"{start + i // 8:x} {size - i // 4:x} nest_{i}\n" for i in range(100_000)).encode()
    names = bounded_map("100,000 nested lines", text)
    check(names and all(ambiguous for _, ambiguous, _ in names), "a name of many is certain")


def test_map_of_noise():
    noise = random.Random(1).randbytes(4 << 20)
    bounded_map("noise", noise)
    bounded_map("noise without a line end", noise.replace(b"\n", b" "))
    bounded_map("zeros", bytes(8 << 20))


# --- jitdumps -----------------------------------------------------------------------------------------

def header(pid, size=40, magic=0x4A695444):
    return struct.pack("<IIIIIIQQ", magic, 1, size, 62, 0, pid, 0, 0)


def of(kind, body, size=None, time=1):
    return struct.pack("<IIQ", kind, 16 + len(body) if size is None else size, time) + body


def load(target, address=None, size=64, name=b"evil\0", time=1, index=0, **more):
    address = target.arena.start if address is None else address
    body = struct.pack("<IIQQQQ", target.pid, target.pid, address, address, size, index) + name + b"\x90" * 64
    return of(0, body, time=time, **more)


def hostile_dumps(target):
    """(what, bytes, whether doctor must speak of damage, whether a sample may be named by it)"""
    huge = (1 << 64) - 1
    first, second = target.arena.start, target.arena.start + 4096
    moves = b"".join(of(1, struct.pack("<IIQQQQQ", target.pid, target.pid, second, *pair, 64, 0), time=i)
                     for i, pair in enumerate([(first, second), (second, first)] * 50_000))
    whole = header(target.pid)
    one_place = b"".join(load(target, time=i, name=b"evil%d\0" % i) for i in range(100_000))
    one_index = b"".join(load(target, address=first + 64 * (i % 64), time=i) for i in range(10_000))
    backwards = b"".join(load(target, time=10**12 - i) for i in range(10_000))
    return [
        ("empty", b"", True, False),
        ("a part of a header", whole[:17], True, False),
        ("another magic", header(target.pid, magic=0x12345678) + load(target), True, False),
        ("a header of 0 bytes", header(target.pid, size=0) + load(target), True, True),
        ("a header of 2^32-1 bytes", header(target.pid, size=(1 << 32) - 1) + load(target), True, False),
        ("a record of 0 bytes", whole + of(0, b"", size=0) * 1000, True, False),
        ("a record of 15 bytes", whole + of(9, b"", size=15) * 1000, True, False),
        ("a record of 2^32-1 bytes", whole + of(0, b"x" * 100, size=(1 << 32) - 1), True, False),
        ("code of 2^64-1 bytes", whole + load(target, size=huge), True, False),
        ("code that wraps", whole + load(target, address=huge - 8, size=64), False, False),
        ("a name without an end", whole + load(target, name=b"x" * 200), True, False),
        ("2^64-1 line entries", whole + of(2, struct.pack("<QQ", first, huge)) + load(target), False, True),
        ("2^64-1 bytes of unwind data", whole + of(4, struct.pack("<QQQ", huge, huge, huge)) + load(target),
         False, True),
        ("moves in a circle", whole + load(target) + moves, False, True),
        ("one place, 100,000 times", whole + one_place, False, True),
        ("one index for all", whole + one_index, False, True),
        ("times that go backwards", whole + backwards, False, True),
        ("unknown records", whole + of(77, b"y" * 24) * 100_000, False, False),
        ("noise", whole + random.Random(2).randbytes(1 << 20), True, False),
    ]


def test_dumps():
    target = victim()
    path = scratch("/var/tmp") / f"jit-{target.pid}.dump"
    failed = []
    for what, content, damaged, may_name in hostile_dumps(target):
        path.write_bytes(content)
        try:
            done = run_jitscope("script", "-i", target.data, "--json", "--jitdump", path, status=(0, 1, 2, 3),
                                memory=MEMORY, limit=LIMIT)
            if done.returncode > 1:  # it may also refuse to go on with a file that it was told to use
                check(damaged and path.name in done.stderr, f"refused: {done.stderr}")
                continue
            names = {name for name, _, _ in target.names("--jitdump", path) if name}
            check(may_name or not names, f"named {sorted(names)[:3]}")
            check(all(name.startswith("evil") for name in names), f"names that are not its: {names}")
            text = doctor(target.data, "--jitdump", path, memory=MEMORY, limit=LIMIT)
            check(not damaged or path.name in text, f"doctor does not speak of {path.name}: {text}")
        except harness.Failure as failure:
            failed.append(f"{what}: {failure}")
    equal(failed, [], "hostile dumps")


def test_dump_that_is_a_fifo():
    target = victim()
    path = scratch("/var/tmp") / f"jit-{target.pid}.dump"
    os.mkfifo(path)
    done = run_jitscope("script", "-i", target.data, "--jitdump", path, status=(0, 1, 2, 3), memory=MEMORY,
                        limit=LIMIT)
    check(str(path) in done.stderr, f"the file is spoken of: {done.stderr}")


def boundaries(data):
    at = struct.unpack_from("<I", data, 8)[0]
    while at + 16 <= len(data):
        yield at
        at += struct.unpack_from("<I", data, at + 4)[0]


def test_dump_damaged_in_the_middle():
    # What stands before the damage still counts; behind it nothing wrong is certain.
    target = victim()
    right = target.dump.read_bytes()
    places = list(boundaries(right))
    middle = places[len(places) // 2]
    moment = struct.unpack_from("<Q", right, places[len(places) // 2 - 1] + 8)[0]
    path = scratch("/var/tmp") / f"jit-{target.pid}.dump"
    path.write_bytes(right[:middle] + of(0, b"", size=0) + right[middle:])
    ours = jitscope_samples(target.data, "--jitdump", path, memory=MEMORY, limit=LIMIT)
    score = {True: Score(), False: Score()}
    for told, mine in zip(target.told, ours):
        if in_arena(told, target.arena):
            score[told.time < moment].take(true_name(told), mine.leaf.get("method"),
                                         mine.leaf.get("ambiguous", False), mine.candidates)
    say("a damaged dump", "before the damage", score[True])
    say("a damaged dump", "after it", score[False])
    check(score[True].all > 100 and score[True].right == score[True].all, f"{score[True].examples}")
    check(score[False].wrong == 0, f"certain and wrong behind the damage: {score[False].examples}")
    check(str(path).lower() in doctor(target.data, "--jitdump", path), "doctor speaks of the damaged file")


# --- recordings ---------------------------------------------------------------------------------------

def test_recordings_with_broken_bytes():
    target = victim()
    right = target.data.read_bytes()
    path = scratch("/var/tmp") / "perf.data"
    rng = random.Random(3)
    statuses = []
    for i in range(40):
        broken = bytearray(right)
        for _ in range(rng.choice((1, 4, 64))):
            # The first kilobytes hold the header, the attributes and the mappings.
            at = rng.randrange(len(broken)) if rng.random() < 0.5 else rng.randrange(4096)
            broken[at:at + 8] = rng.choice((bytes(8), b"\xff" * 8, rng.randbytes(8)))
        path.write_bytes(broken[:rng.randrange(len(broken))] if i % 4 == 0 else broken)
        for words in (("script", "--json"), ("report", "--json"), ("doctor",)):
            done = run_jitscope(words[0], "-i", path, *words[1:], status=(0, 1, 2, 3), memory=MEMORY, limit=LIMIT)
            statuses.append(done.returncode)
    print(f"     statuses: { {status: statuses.count(status) for status in sorted(set(statuses))} }")


def test_recording_that_is_cut():
    # It gives the samples that it still has.
    target = victim()
    path = scratch("/var/tmp") / "perf.data"
    right = target.data.read_bytes()
    path.write_bytes(right[:len(right) // 2])
    done = run_jitscope("script", "-i", path, "--json", status=(0, 1), memory=MEMORY, limit=LIMIT)
    count = done.stdout.count('"type":"sample"')
    check(len(target.told) // 4 < count < len(target.told), f"{count} samples of {len(target.told)} in one half")
    check(done.stderr.strip(), "it says that the file is cut")


if __name__ == "__main__":
    harness.main(test_map_that_is_a_link, test_map_that_is_a_link_to_nowhere, test_map_that_is_a_fifo,
                 test_map_that_is_a_directory, test_map_of_another_user, test_map_with_sizes_that_wrap,
                 test_map_of_overlapping_lines, test_map_of_nested_lines, test_map_of_noise, test_dumps,
                 test_dump_that_is_a_fifo, test_dump_damaged_in_the_middle, test_recordings_with_broken_bytes,
                 test_recording_that_is_cut)
