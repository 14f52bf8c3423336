"""What a jitdump and a perf map say, read here with code of our own: none of it is the project's."""

import bisect
import collections
import pathlib
import struct

from harness import check, equal

Load = collections.namedtuple("Load", "time start end name order")


class Dump:
    """The newest LOAD at or before a moment that holds an address. Reads all that a cut file has."""

    def __init__(self, path):
        data = pathlib.Path(path).read_bytes()
        (self.magic, self.version, size, self.machine, _, self.pid, self.timestamp,
         self.flags) = struct.unpack_from("<IIIIIIQQ", data)
        equal(self.magic, 0x4A695444, f"{path}: magic")
        self.loads, self.moves, self.cut = [], 0, False
        at = size
        while at + 16 <= len(data):
            kind, length, time = struct.unpack_from("<IIQ", data, at)
            check(length >= 16, f"{path}: record of {length} bytes at {at}")
            body = data[at + 16:at + length]
            self.cut = at + length > len(data)
            self._take(kind, time, body)
            at += length
        self.cut = self.cut or at < len(data)
        self.loads.sort(key=lambda load: (load.time, load.order))
        self._pages = collections.defaultdict(list)
        for load in self.loads:
            for page in range(load.start >> 12, ((load.end - 1) >> 12) + 1):
                self._pages[page].append(load)

    def _take(self, kind, time, body):
        if kind == 0 and len(body) >= 40:
            _, _, _, address, size, _ = struct.unpack_from("<IIQQQQ", body)
            name, found, _ = body[40:].partition(b"\0")
            if found and size:
                self._add(time, address, size, name.decode(errors="replace"))
        elif kind == 1 and len(body) >= 48:
            _, _, _, old, new, size, _ = struct.unpack_from("<IIQQQQQ", body)
            for load in reversed(self.loads):
                if load.start == old:
                    self._add(time, new, size, load.name)
                    self.moves += 1
                    break

    def _add(self, time, address, size, name):
        self.loads.append(Load(time, address, address + size, name, len(self.loads)))

    def at(self, address, time):
        """(the load, whether a newer one has overlapped it by then)"""
        page = self._pages.get(address >> 12, [])
        for i in range(bisect.bisect_right(page, time, key=lambda load: load.time) - 1, -1, -1):
            load = page[i]
            if load.start <= address < load.end:
                return load, self._overlapped(load, time)
        return None, False

    def _overlapped(self, load, time):
        for page in range(load.start >> 12, ((load.end - 1) >> 12) + 1):
            for other in reversed(self._pages[page]):
                if other.order == load.order or (other.time, other.order) <= (load.time, load.order):
                    break
                if other.time <= time and other.start < load.end and load.start < other.end:
                    return True
        return False

    def ever_at(self, address):
        """The names of all that ever lay there."""
        return {load.name for load in self._pages.get(address >> 12, [])
                if load.start <= address < load.end}


def find_dump(directory, pid="*"):
    found = sorted(pathlib.Path(directory).glob(f"jit-{pid}.dump"))
    equal(len(found), 1, f"jitdumps in {directory}")
    return found[0]


class Map:
    """The lines of a perf map: all names that lay at an address."""

    def __init__(self, path):
        self._pages = collections.defaultdict(list)
        self.lines = 0
        for line in pathlib.Path(path).read_text(errors="replace").splitlines():
            start, size, name = line.split(" ", 2)
            start, size = int(start, 16), int(size, 16)
            self.lines += 1
            for page in range(start >> 12, ((start + max(size, 1) - 1) >> 12) + 1):
                self._pages[page].append((start, start + size, name))

    def ever_at(self, address):
        return {name for start, end, name in self._pages.get(address >> 12, []) if start <= address < end}
