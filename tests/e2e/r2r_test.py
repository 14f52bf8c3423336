"""ReadyToRun images of .NET as src/formats/r2r reads them (tests/programs/r2r_list.cc), compared with what
their own runtimes say: every entry of every image, and of the methods that run, address, size and name.
"""

import collections
import json
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
from profiles import Named, jitscope_samples, run_jitscope

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


def r2rmap(signature, listed_methods, place=lambda start: start, system=2, architecture=3):
    """A map as Crossgen2 writes it; without a signature the lines alone."""
    lines = [(0xffffffff, 0, signature.upper()), (0xfffffffe, 0, 1), (0xfffffffd, 0, system),
             (0xfffffffc, 0, architecture), (0xfffffffb, 0, 1)] if signature else []
    lines += [(place(start), method.end - start, method.full) for start, method in sorted(listed_methods.items())]
    return "".join(f"{start:08X} {size:02X} {name}\n" for start, size, name in lines)


def recorded_bundle(program):
    folder = scratch("/var/tmp")
    (folder / "log.sarif").write_text(LOG)
    environment = {**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1", "DOTNET_TieredCompilation": "0"}
    jitscope("record", "-o", folder / "perf.data", "-e", "cpu-clock", "-F", "4000", "--no-stacks", "--", program, "validate", "log.sarif",
             env=environment, cwd=folder, limit=120, status=tuple(range(256)))
    if not (folder / "perf.data").exists():
        raise Skip("the program of the bundle cannot be recorded here")
    return folder / "perf.data"


def maps_of_crossgen2_name_what_decoding_names():
    """A map in Crossgen2's format, made of what the image lists, names the samples of a real program as the image does;
    one of another image, for another system, or with another base is refused and leaves the names as they are.
    """
    program, entries, images = bundle_images()
    content = program.read_bytes()
    data = recorded_bundle(program)
    plain = jitscope_samples(data)
    parts = collections.Counter(each.leaf["dso"] for each in plain if each.leaf.get("source") == "readytorun")
    name = parts.most_common(1)[0][0]
    name = name.rpartition("!")[2].rpartition("/")[2]
    which = next(i for i, entry in enumerate(entries) if entry.name.rpartition("/")[2] == name)
    other = next(i for i, image in enumerate(images) if image.methods > 200 and i != which)
    entry, methods = entries[which], images[which].listed
    signature = dotnet.perf_map_signature(content, entry.offset)
    foreign = dotnet.perf_map_signature(content, entries[other].offset)
    check(signature and foreign and signature != foreign, f"signatures: {signature} {foreign}")
    folder = data.parent
    sections = dotnet.sections(content, entry.offset)

    def place(start):
        return dotnet.offset(sections, start)

    def told(text, option="", file="a.ni.r2rmap", part=f"{program}!{name}"):
        """How samples of the image are named with this map, by source; and the notes."""
        (folder / file).write_text(text)
        words = ("--map", f"{part}={folder / file}{option}")
        done = run_jitscope("script", "-i", data, "--json", *words)
        samples = [each for each in map(json.loads, done.stdout.splitlines()) if each["type"] == "sample"]
        sources = collections.Counter()
        for before, now in zip(plain, map(Named, samples), strict=True):
            was, leaf = before.leaf, now.leaf
            if was.get("source") == "readytorun":
                equal((leaf.get("method"), leaf["dso"]), (was["method"], was["dso"]), f"the name of {now.ip:x} with {words}")
                if was["dso"].endswith(name):
                    sources[leaf["source"]] += 1
        return sources, [line for line in done.stderr.splitlines() if "map " in line]

    def as_rva_and_file(starts):
        """How many of the starts are those of functions, taken for RVAs and for file offsets, in percent."""
        taken = [dotnet.rva(sections, start) for start in starts]
        return tuple(100 * sum(each in methods for each in addresses) / len(taken) for addresses in (starts, taken))

    def told_without_base(what, starts, text):
        """Used when one base is sure and the other is not: CoreLib's methods lie close to each other."""
        shares = as_rva_and_file(starts)
        certain = max(shares) >= 95 and min(shares) <= 5
        sources, notes = told(text)
        equal(sources, {"offline map" if certain else "readytorun": total}, f"{what}, {shares}")
        figures = "{:.1f} % begin where functions do as RVAs, {:.1f} % as file offsets".format(*shares)
        check(notes == [] if certain else len(notes) == 1 and figures in notes[0], f"{what}: {notes}, {figures}")
        print(f"     {what}: {'used' if certain else 'refused'}: {figures}")

    total = sum(count for dso, count in parts.items() if dso.endswith(name))
    check(total > 100, f"samples in images: {parts}")
    print(f"     {total} of {sum(parts.values())} samples in {name} ({len(methods)} methods), signature {signature}")
    right = ({"offline map": total}, [])
    own = r2rmap(signature, methods)
    mine = dotnet.mvid(content, entry.offset)
    equal(told(own), right, "Crossgen2's map, HOST!ENTRY")
    equal(told(own, part=name), right, "Crossgen2's map, the entry's base name")
    equal(told(own, ":base=rva"), right, "Crossgen2's map, its base said")
    told_without_base("a map of RVAs that says nothing", list(methods), r2rmap("", methods))
    told_without_base("a map of file offsets that says nothing", [place(start) for start in methods],
                      r2rmap("", methods, place))
    told_without_base("another image's map that says nothing", list(images[other].listed),
                      r2rmap("", images[other].listed))
    equal(told(r2rmap("", methods, place), ":base=file"), right, "a map of file offsets, its base said")
    equal(told(r2rmap("", methods), ":base=rva", file=f"a.ni.{{{mine}}}.map"), right, "Crossgen's first format, with the MVID")
    for what, given, says in (
            ("another signature", told(r2rmap(foreign, methods)), f"made for signature {foreign}, the image has {signature}"),
            ("another image's map", told(r2rmap(foreign, images[other].listed)), "made for signature"),
            ("another MVID", told(r2rmap("", methods), file=f"a.ni.{{{dotnet.mvid(content, entries[other].offset)}}}.map"),
             "made for guid"),
            ("Windows", told(r2rmap(signature, methods, system=1)), "made for Windows, the image is for Linux"),
            ("ARM64", told(r2rmap(signature, methods, architecture=2)), "made for ARM64, the image is for X64"),
            ("RVAs as file offsets", told(own, ":base=file"), "its base is not file: of its"),
            ("file offsets as RVAs", told(r2rmap("", methods, place), ":base=rva"), "its base is not rva: of its")):
        sources, notes = given
        equal(sources, {"readytorun": total}, f"{what}: sources")
        check(len(notes) == 1 and says in notes[0], f"{what}: {notes}")
        print(f"     {what}: {notes[0].partition(': not used for ')[2].partition(': ')[2]}")


main(every_entry_of_net_8_is_read, every_entry_of_net_core_2_0_is_read,
     methods_of_net_8_are_those_of_the_runtime, image_as_elf_file_says_the_same,
     names_of_net_core_2_0_are_those_of_its_compiler, maps_of_crossgen2_name_what_decoding_names)
