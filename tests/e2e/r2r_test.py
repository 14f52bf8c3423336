"""ReadyToRun images of .NET as src/formats/r2r reads them (tests/programs/r2r_list.cc), compared with what
their own runtimes say: every entry of every image, and of the methods that run, address, size and name.
"""

import collections
import os
import pathlib
import random
import shutil
import struct
import subprocess
import time

import dotnet
from dumps import Dump
from harness import JITSCOPE, TIME_FACTOR, Failure, Skip, check, equal, jitscope, main, scratch

R2R_LIST = os.environ.get("JITSCOPE_R2R_LIST", str(pathlib.Path(JITSCOPE).parent / "e2e_r2r_list"))

Image = collections.namedtuple("Image", "kind functions methods instances unknown listed")
Method = collections.namedtuple("Method", "end full display")

# A log for the program of the bundle to work on; what it says of it does not matter.
LOG = """{"$schema": "https://schemastore.azurewebsites.net/schemas/json/sarif-2.1.0-rtm.5.json", "version": "2.1.0",
"runs": [{"tool": {"driver": {"name": "x", "rules": [{"id": "A1"}]}},
          "results": [{"ruleId": "A1", "message": {"text": "hello world"}}]}]}"""

BUSY = """using System; using System.Linq; using System.Text.RegularExpressions;
class Busy {
  static int Main() {
    var regex = new Regex("(a+)(b|c)*d");
    int sum = 0;
    for (int i = 0; i < 50; i++) sum += regex.Matches("aaabcbcd xx aad").Count;
    var groups = Enumerable.Range(0, 100).Where(x => x % 3 == 0).OrderBy(x => -x).GroupBy(x => x % 7)
                 .ToDictionary(g => g.Key, g => g.ToList());
    Console.WriteLine(sum + groups.Count);
    return 0;
  }
}"""


def listed(places):
    """What is read of each image, in this order."""
    check(os.access(R2R_LIST, os.X_OK), f"no {R2R_LIST}")
    done = subprocess.run([R2R_LIST, *places], capture_output=True, text=True, check=False)
    equal((done.returncode, done.stderr), (0, ""), "reading the images")
    found = []
    for line in done.stdout.splitlines():
        if line.startswith("kind "):
            kind, _, counts = line[5:].partition(" functions ")
            numbers = [int(word) for word in counts.split()[0:8:2]] if counts else [0, 0, 0, 0]
            found.append(Image(kind.partition(":")[0], *numbers, {}))
        else:
            start, end, full, display = line.split("\t")
            found[-1].listed[int(start, 16)] = Method(int(end, 16), full, display)
    equal(len(found), len(places), "images")
    return found


def sums(images):
    ready = [image for image in images if image.kind == "a ReadyToRun image"]
    for image in ready:
        for start, method in image.listed.items():
            check(not method.full.startswith("ERROR") and start < method.end, f"{start:x}: {method}")
        equal(len(image.listed), image.methods + image.instances, "methods of an image")
    return {"images": len(ready), **{field: sum(getattr(image, field) for image in ready)
                                     for field in ("functions", "methods", "instances", "unknown")}}


def bundle_images():
    program = dotnet.bundle8()
    entries = [entry for entry in dotnet.bundle_entries(program) if entry.kind == dotnet.ASSEMBLY]
    return program, entries, listed([f"{program}@{entry.offset}:{entry.size}" for entry in entries])


def every_entry_of_net_8_is_read():
    _, entries, images = bundle_images()
    equal(len(entries), 264, "images")
    equal(sums(images), {"images": 89, "functions": 126918, "methods": 78375, "instances": 38880, "unknown": 0},
          "what is read")


def every_entry_of_net_core_2_0_is_read():
    images = listed(dotnet.images20())
    equal(sums(images), {"images": 152, "functions": 81296, "methods": 63343, "instances": 11961, "unknown": 0},
          "what is read")
    kinds = collections.Counter(image.kind for image in images)
    equal(sum(number for kind, number in kinds.items() if kind.startswith("an NGEN image")), 1, f"NGEN: {kinds}")


def run_bundle(program, folder):
    """The names that the runtime itself writes of precompiled methods, and where the program is mapped."""
    (folder / "log.sarif").write_text(LOG)
    environment = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "DOTNET_PerfMapEnabled": "2",
                   "DOTNET_PerfMapShowOptimizationTiers": "1", "DOTNET_TieredCompilation": "0",
                   "DOTNET_PerfMapJitDumpPath": str(folder)}
    process = subprocess.Popen([program, "validate", "log.sarif"], cwd=folder, env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    mapped = {}
    end = time.monotonic() + 120 * TIME_FACTOR
    while process.poll() is None:
        if time.monotonic() > end:
            process.kill()
            raise Failure("the program of the bundle does not end")
        try:
            lines = pathlib.Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        for line in lines:
            words = line.split(None, 5)
            if len(words) == 6 and words[5] == str(program) and "x" in words[1]:
                start, stop = (int(word, 16) for word in words[0].split("-"))
                mapped[start, stop] = int(words[2], 16)
        time.sleep(0.002)
    dump = folder / f"jit-{process.pid}.dump"
    if not dump.exists():
        raise Skip(f"the program of the bundle does not run here (status {process.returncode})")
    mark = "[PreJIT]"
    return [(load.start, load.end - load.start, load.name[:-len(mark)]) for load in Dump(dump).loads
            if load.name.endswith(mark)], mapped


def methods_of_net_8_are_those_of_the_runtime():
    program, entries, images = bundle_images()
    data = program.read_bytes()
    for _ in range(3):
        loads, mapped = run_bundle(program, scratch())
        unmapped = [load for load in loads if not any(low <= load[0] < high for low, high in mapped)]
        if not unmapped:
            break
    equal(unmapped, [], "methods in images that were mapped and gone between two looks")
    check(len(loads) > 2500, f"{len(loads)} methods only")
    order = sorted(range(len(entries)), key=lambda i: entries[i].offset)
    found = collections.Counter()
    for address, size, name in loads:
        (low, _), offset = next((span, offset) for span, offset in mapped.items() if span[0] <= address < span[1])
        at = address - low + offset
        which = next(i for i in order if entries[i].offset <= at < entries[i].offset + entries[i].size)
        start = dotnet.rva(dotnet.sections(data, entries[which].offset), at - entries[which].offset)
        method = images[which].listed.get(start)
        check(method, f"{name}: nothing at {start:x} of {entries[which].name}")
        equal((method.full, method.end - start), (name, size), f"{start:x} of {entries[which].name}")
        found[entries[which].name] += 1
    check(len(found) > 15, f"methods of few images: {found}")
    print(f"     {sum(found.values())} methods of {len(found)} images")


def image_as_elf_file_says_the_same():
    """`image build` of a part of the single-file program: binutils name addresses as the decoder does."""
    program, entries, images = bundle_images()
    which = next(i for i, entry in enumerate(entries) if entry.name.endswith("System.Text.RegularExpressions.dll"))
    image = images[which]
    elf = scratch("/var/tmp") / "regular.elf"
    built = jitscope("image", "build", f"{program}!System.Text.RegularExpressions.dll", "-o", elf, "--json").objects("image")
    equal(built[0]["bodies"], image.methods + image.instances, "bodies")
    base = struct.unpack_from("<Q", program.read_bytes(), entries[which].offset + pe_header(program, entries[which]) + 48)[0]
    generator = random.Random(7)
    starts = sorted(image.listed)
    places = []
    for _ in range(1000):
        start = generator.choice(starts)
        places.append((generator.randrange(start, image.listed[start].end), start))
    asked = subprocess.run(["addr2line", "-f", "-e", elf], input="".join(f"{base + at:#x}\n" for at, _ in places),
                           capture_output=True, text=True, check=True).stdout.splitlines()[::2]
    for (at, start), name in zip(places, asked, strict=True):
        function = image.listed[start].full.partition("(")[0].rpartition("::")[2]
        check(name.partition("(")[0].endswith("." + function), f"{at:x}: {name}, the decoder says {image.listed[start]}")


def pe_header(program, entry):
    """Where the PE header of an image begins in it."""
    with open(program, "rb") as file:
        file.seek(entry.offset + 0x3c)
        return struct.unpack("<I", file.read(4))[0]


def run_20(folder, ready_to_run):
    """The names of the methods that .NET Core 2.0 compiled."""
    environment = {**os.environ, "COMPlus_PerfMapEnabled": "1", "COMPlus_ReadyToRun": str(int(ready_to_run))}
    process = subprocess.Popen([dotnet.core20() / "dotnet", "Busy.dll"], cwd=folder, env=environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, error = process.communicate(timeout=120 * TIME_FACTOR)
    try:
        if process.returncode != 0:
            raise Skip(f".NET Core 2.0 does not run here: {(error or out).strip().splitlines()[:1]}")
        lines = pathlib.Path(f"/tmp/perf-{process.pid}.map").read_text(encoding="utf-8").splitlines()
    finally:
        for left in (f"/tmp/perf-{process.pid}.map", f"/tmp/perfinfo-{process.pid}.map"):
            if os.path.lexists(left):
                os.unlink(left)
    return {line.split(None, 2)[2] for line in lines}


def names_of_net_core_2_0_are_those_of_its_compiler():
    """It never writes its ReadyToRun methods down. But what it compiles only when it may not use them must
    be one of them, and it writes that down by name."""
    images = dotnet.images20()
    compiler = shutil.which("mcs")
    if not compiler:
        raise Skip("no mcs")
    folder = scratch()
    (folder / "Busy.cs").write_text(BUSY)
    subprocess.run([compiler, "-r:System.Core", "-out:Busy.exe", "Busy.cs"], cwd=folder, check=True)
    shutil.copy(folder / "Busy.exe", folder / "Busy.dll")
    (folder / "Busy.runtimeconfig.json").write_text(
        '{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "2.0.0"},'
        ' "configProperties": {"System.Globalization.Invariant": true}}}')
    compiled = run_20(folder, False) - run_20(folder, True)
    compiled = {name for name in compiled if "dynamicClass" not in name}
    known = {method.full for image in listed(images) for method in image.listed.values()}
    check(len(compiled) > 100, f"{len(compiled)} methods only")
    equal(sorted(compiled - known), [], "methods that no image has by this name")
    print(f"     {len(compiled)} methods")


main(every_entry_of_net_8_is_read, every_entry_of_net_core_2_0_is_read,
     methods_of_net_8_are_those_of_the_runtime, image_as_elf_file_says_the_same,
     names_of_net_core_2_0_are_those_of_its_compiler)
