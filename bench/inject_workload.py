"""A process with a jitdump of many functions, some of which it runs: inject_workload.py LOADS LINES RUN SECONDS

The dump, jit-PID.dump, lies in the current directory; LOADS functions of 512 bytes, each with LINES line entries,
6144 bytes apart; the first RUN of them are called in turns for SECONDS.
"""

import ctypes
import mmap
import os
import struct
import sys
import time

BASE, STEP, SIZE = 0x100000000000, 6144, 512
CODE = (b"\xb9\xe8\x03\0\0\xff\xc9\x75\xfc\xc3" + b"\x90" * SIZE)[:SIZE]  # 1000 rounds, ret
MAP_FIXED_NOREPLACE, MAP_NORESERVE = 0x100000, 0x4000


def write_dump(path, pid, loads, lines):
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    with open(path, "wb") as file:
        file.write(struct.pack("<IIIIIIQQ", 0x4A695444, 1, 40, 62, 0, pid, now, 0))
        for i in range(loads):
            address = BASE + i * STEP
            source = b"/src/org/example/Component%d.java\0" % (i % 4000)
            body = struct.pack("<QQ", address, lines) + b"".join(
                struct.pack("<Qii", address + k * (SIZE // lines), 10 + k, 0) + source for k in range(lines))
            file.write(struct.pack("<IIQ", 2, 16 + len(body), now + 2 * i) + body)
            body = (struct.pack("<IIQQQQ", pid, pid, address, address, SIZE, i)
                    + b"Lorg/example/part%d/Component%d;::handle%d\0" % (i % 97, i % 9973, i) + CODE)
            file.write(struct.pack("<IIQ", 0, 16 + len(body), now + 2 * i + 1) + body)


def main():
    loads, lines, run, seconds = map(int, sys.argv[1:])
    path = f"jit-{os.getpid()}.dump"
    write_dump(path, os.getpid(), loads, lines)
    with open(path, "rb") as file:
        # What tells perf of the dump.
        marker = mmap.mmap(file.fileno(), mmap.PAGESIZE, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
    got = libc.mmap(BASE, loads * STEP, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC,
                    mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0)
    if got != BASE:
        sys.exit(f"no memory at {BASE:#x}: {os.strerror(ctypes.get_errno())}")
    functions = []
    for i in range(run):
        ctypes.memmove(BASE + i * STEP, CODE, SIZE)
        functions.append(ctypes.CFUNCTYPE(None)(BASE + i * STEP))
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for function in functions:
            function()
    marker.close()


if __name__ == "__main__":
    main()
