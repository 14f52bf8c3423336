"""`jitscope image`: what other tools read out of an image of a JVM (readelf, eu-elflint, llvm-dwarfdump,
addr2line, llvm-symbolizer, gdb, bpftrace, debuginfod) against what jitscope itself says of the same addresses
(`jitscope map --unfold-all`), on 1,000 random ones."""

import json
import os
import random
import re
import shutil
import socket
import subprocess
import urllib.error
import urllib.request

import harness
from harness import PROGRAMS, Child, Skip, bodies, check, equal, jitscope, scratch, wait_for
from lines import line_of, start_lines
from profiles import program
from runtimes import jdks, start_node

ADDRESSES = 1000
_RANGE = re.compile(r"([0-9a-f]+) ([0-9a-f]+) (.*)")
_PLACE = re.compile(r"(.*)\((?:(\S+?):(\d+)|(\S+))\)")


def tool(name, package):
    found = shutil.which(name)
    if not found:
        raise Skip(f"no {name} (package {package})")
    return found


def run(*argv, text=None, status=(0,), env=None):
    done = subprocess.run([str(word) for word in argv], input=text, capture_output=True, text=True,
                          errors="replace", timeout=300, env=env, check=False)
    check(done.returncode in status, f"{argv[0]}: status {done.returncode}: {done.stderr[-600:]}")
    return done.stdout


def build(target, folder, *options):
    """The image of a live process, and what it says about itself."""
    path = folder / f"code-{target.pid}.elf"
    made = jitscope("image", "build", "-p", target.pid, "-o", path, "--source", PROGRAMS, "--json",
                    *options).objects("image")
    equal(made[0]["path"], str(path), "the image's path")
    return path, made[0]


def told(target):
    """What jitscope says: {start: (end, [(function, file, line), ...] innermost first)}."""
    ranges = []
    for line in jitscope("map", "-p", target.pid, "-o", "-", "--unfold-all", "--sourcepos", "--dotted-class",
                         "--msig").out:
        start, size, name = _RANGE.fullmatch(line).groups()
        chain = []
        for part in reversed(name.split("->")):
            place = _PLACE.fullmatch(part)
            if place and place[2]:
                chain.append((place[1].replace("::", "."), place[2], int(place[3])))
            else:
                chain.append((part.replace("::", "."), None, None))
        ranges.append((int(start, 16), int(start, 16) + int(size, 16), chain))
    return ranges


def built_and_told(target, folder, *options):
    """The image, what it says of itself, and what jitscope says of code that lay there before and after: a JVM
    may still compile in between."""
    before = told(target)
    path, made = build(target, folder, *options)
    after = told(target)
    return path, made, [each for each in before if each in after]


def pick(ranges, count):
    """Random addresses in methods of which lines are known, the same ones for everybody."""
    chosen = random.Random(4711)
    known = [each for each in ranges if each[2][0][2]]
    check(len(known) > 50, f"only {len(known)} ranges with lines")
    out = []
    for _ in range(count):
        start, end, chain = chosen.choice(known)
        out.append((chosen.randrange(start, end), chain))
    return out


def base(path):
    return path.rsplit("/", 1)[-1]


def agree(name, answers, picked):
    """Each answer is a chain of (function, file, line), innermost first."""
    wrong = []
    for (address, chain), answer in zip(picked, answers, strict=True):
        got = [(function, base(file), line) for function, file, line in answer]
        if got != chain:
            wrong.append(f"{address:#x}: {name} {got}, jitscope {chain}")
    equal(len(wrong), 0, f"addresses of {len(picked)} on which {name} differs: {wrong[:3]}")
    inlined = sum(len(chain) > 1 for _, chain in picked)
    print(f"     {name}: {len(picked)} addresses agree, {inlined} of them in inlined methods", flush=True)


def addr2line(path, picked):
    out = run(tool("addr2line", "binutils"), "-a", "-f", "-i", "-e", path,
              text="".join(f"{address:#x}\n" for address, _ in picked)).splitlines()
    answers = []
    for line in out:
        if line.startswith("0x"):
            answers.append([])
        elif len(answers[-1]) == 0 or len(answers[-1][-1]) == 3:
            answers[-1].append((line,))
        else:
            file, _, number = line.split(" ")[0].rpartition(":")
            answers[-1][-1] += (file, int(number) if number.isdigit() else None)
    return answers


def symbolizer(path, picked):
    out = run(tool("llvm-symbolizer", "llvm"), "--inlines", "--no-demangle", "--output-style=JSON", "-e", path,
              text="".join(f"{address:#x}\n" for address, _ in picked))
    answers = []
    for line in out.splitlines():
        answers.append([(each["FunctionName"], each["FileName"], each["Line"])
                        for each in json.loads(line)["Symbol"]])
    return answers


def gdb(path, picked, folder):
    """(symbol, file, line) of each address: gdb tells the innermost line and the ELF symbol."""
    script = folder / "ask.gdb"
    script.write_text("set print symbol-filename off\nset width 0\n" + "".join(
        f"info symbol {address:#x}\ninfo line *{address:#x}\n" for address, _ in picked))
    lines = run(tool("gdb", "gdb"), "-q", "-nx", "-batch", "-x", script, path).splitlines()
    equal(len(lines), 2 * len(picked), f"lines of gdb: {lines[:4]}")
    return list(zip(lines[0::2], lines[1::2]))


def tools_agree():
    for major, java in jdks().items():
        with start_lines(java) as target:
            folder = scratch()
            listed = bodies(target)
            path, made, ranges = built_and_told(target, folder)
            picked = pick(ranges, ADDRESSES)
            print(f"     JDK {major}: {made['bodies']} bodies, {made['file_bytes']} bytes", flush=True)

            read = subprocess.run(["readelf", "-aW", path], capture_output=True, text=True, check=False)
            equal((read.returncode, read.stderr), (0, ""), "readelf's warnings")
            equal(run(tool("eu-elflint", "elfutils"), "--gnu-ld", path).strip(), "No errors", "eu-elflint")
            check("No errors." in run(tool("llvm-dwarfdump", "llvm"), "--verify", path), "llvm-dwarfdump")

            agree("addr2line", addr2line(path, picked), picked)
            agree("llvm-symbolizer", symbolizer(path, picked), picked)
            gdb_agrees(path, picked, folder)
            symbols_agree(target, path, listed)
            target.check_sound()


def gdb_agrees(path, picked, folder):
    wrong = []
    for (address, chain), (symbol, line) in zip(picked, gdb(path, picked, folder), strict=True):
        outer = chain[-1][0]
        named = symbol.startswith(outer) or symbol.startswith(outer.split("(")[0])
        place = re.match(r'Line (\d+) of "(.*?)"', line)
        if not named or not place or (base(place[2]), int(place[1])) != chain[0][1:]:
            wrong.append(f"{address:#x}: gdb {symbol!r} {line!r}, jitscope {chain}")
    equal(len(wrong), 0, f"addresses on which gdb differs: {wrong[:3]}")
    address = picked[0][0]
    code = run("gdb", "-q", "-nx", "-batch", "-ex", f"disassemble {address:#x},+32", path)
    check("Dump of assembler code" in code and "Cannot access" not in code, f"gdb disassembles: {code[:300]}")
    print(f"     gdb: {len(picked)} addresses agree", flush=True)


def symbols_agree(target, path, before):
    """Every method that jitscope lists before and after has its symbol, at its address, with its size; and
    bytes."""
    symbols = {}
    for line in run("readelf", "-sW", path).splitlines():
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[3] == "FUNC":
            size = int(fields[2], 0)
            symbols.setdefault((int(fields[1], 16), size), set()).add(fields[7])
    missing = []
    listed = [each for each in bodies(target) if each in before]
    check(len(listed) > 50, f"only {len(listed)} methods stayed")
    for body in listed:
        place = (int(body["address"], 0), body["size"])
        names = symbols.get(place, set())
        if body["method"] not in names or body["method"].split("(")[0] not in names:
            missing.append((body["method"], place, names))
    equal(missing, [], f"of {len(listed)} methods these have no symbol")
    body = next(each for each in listed if each["method"].startswith("Lines.far") and each["tier"] == "c2")
    address, size = int(body["address"], 0), body["size"]
    code = run("objdump", "-s", f"--start-address={address}", f"--stop-address={address + size}", path)
    dumped = "".join("".join(line.split("  ")[0].split()[1:]) for line in code.splitlines()
                     if re.match(r" [0-9a-f]+ ", line))
    got = bytes.fromhex(dumped[:2 * size])
    equal(len(got), size, "bytes of a method in the image")
    equal(got, target.memory(address, size), "bytes of a method")
    listing = run(tool("bpftrace", "bpftrace"), "-l", f"uprobe:{path}:*", status=(0, 1))
    check("Lines.far" in listing, f"bpftrace lists no method: {listing[:200]}")


def dwarf_4_and_packed():
    _, java = max(jdks().items())
    with start_lines(java) as target:
        folder = scratch()
        path, _, ranges = built_and_told(target, folder, "--dwarf", 4)
        picked = pick(ranges, 200)
        agree("addr2line on DWARF 4", addr2line(path, picked), picked)
        check("No errors." in run(tool("llvm-dwarfdump", "llvm"), "--verify", path), "llvm-dwarfdump")
        packed, made = build(target, folder, "--layout", "packed", "--force")
        check("DYN" in run("readelf", "-h", packed), "packed is a shared object")
        names = run("readelf", "-sW", packed)
        check(" Lines.far\n" in names and made["with_bytes"] > 50, "the packed image has the methods")


def other_sources():
    """A perf map has symbols; the dump of a program that reuses addresses makes an image for each time; a
    jitscope recording outlives its process."""
    folder = scratch()
    with start_node("--perf-basic-prof") as target:
        target.go("go 20000")
        made = jitscope("image", "build", "--perf-map", target.map_path, "-o", folder / "map.elf",
                        "--json").objects("image")
    names = run("readelf", "-sW", folder / "map.elf")
    check(made[0]["with_bytes"] == 0 and "hot " in names, "the image of a perf map")


    # Functions over each other: none lies on another of its file.
    run(program("truth_jit"), "--jitdump", folder, "--functions", 300)
    dump = next(folder.glob("jit-*.dump"))
    made = jitscope("image", "build", "--jitdump", dump, "-o", folder / "reuse.elf", "--json").objects("image")
    check(len(made) > 1, "code at reused addresses goes into images of its own")
    check(sum(each["bodies"] for each in made) >= 300, "all functions are in an image")
    for each in made:
        spans = sorted((int(line.split()[1], 16), int(line.split()[2], 0))
                       for line in run("readelf", "-sW", each["path"]).splitlines() if " FUNC " in line)
        check(all(a + size <= b for (a, size), (b, _) in zip(spans, spans[1:])), f"overlaps in {each}")

    _, java = max(jdks().items())
    with start_lines(java) as target:
        jitscope("record", "-p", target.pid, "--duration", "1", "-o", folder / "perf.data")
        pid = target.pid
    made = jitscope("image", "build", "-i", folder / "perf.data", "-p", pid, "-o", folder / "recorded.elf",
                    "--json").objects("image")
    names = run("readelf", "-sW", folder / "recorded.elf")
    check(made[0]["with_bytes"] > 50 and " Lines.far\n" in names, "the image of a recording")
    line = line_of("far")
    far = re.search(r"([0-9a-f]{16})\s+\S+ FUNC .* Lines\.far\n", names)
    answer = run("addr2line", "-e", folder / "recorded.elf", hex(int(far[1], 16) + 40)).strip()
    check(re.search(rf"Lines\.java:{line}\b", answer), f"a line of a recording's image: {answer}")


def installed():
    """By build-id in a debug directory, served by debuginfod to a client that has nothing else."""
    folder = scratch()
    debugdir = folder / "debug"
    _, java = max(jdks().items())
    with start_lines(java) as target:
        path, made, ranges = built_and_told(target, folder)
        picked = pick(ranges, 50)
    place = jitscope("image", "install", path, "--debugdir", debugdir).out[0]
    build_id = made["build_id"]
    equal(place, f"{debugdir}/.build-id/{build_id[:2]}/{build_id[2:]}.debug", "place of an installed image")
    listed = jitscope("image", "list", "--debugdir", debugdir, "--json").objects("image")
    equal([each["build_id"] for each in listed], [build_id], "installed images")
    path.unlink()
    serve(folder, debugdir, build_id, picked)
    cache = folder / "home" / ".debug"
    jitscope("image", "install", place, "--perf", env={**os.environ, "HOME": str(folder / "home")})
    check((cache / ".build-id" / build_id[:2] / build_id[2:] / "elf").is_file(), "perf's layout")
    equal(jitscope("image", "remove", build_id[:8], "--debugdir", cache).out[0].count(build_id[2:]), 1,
          "removed from perf's layout")
    equal([each for each in cache.rglob("*") if not each.is_dir()], [], "files left in perf's layout")
    foreign = debugdir / ".build-id" / build_id[:2] / "0000.debug"
    foreign.write_bytes(b"not ours")
    jitscope("image", "remove", "all", "--debugdir", debugdir)
    check(foreign.exists(), "what is not ours stays")
    jitscope("image", "list", "--debugdir", debugdir, status=1)
    jitscope("image", "remove", "all", "--debugdir", debugdir, status=1)


def serve(folder, debugdir, build_id, picked):
    server_binary = tool("debuginfod", "debuginfod")
    client = tool("debuginfod-find", "debuginfod")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with Child([server_binary, "-d", folder / "server.sqlite", "-p", port, "-F", debugdir]) as server:
        def served():
            check(server.running(), f"debuginfod ended: {server.story()}")
            try:
                urllib.request.urlopen(f"{url}/buildid/{build_id}/debuginfo", timeout=5).close()
                return True
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                return False
        wait_for(served, "debuginfod to serve the image", 60)
        environment = {**os.environ, "DEBUGINFOD_URLS": url, "DEBUGINFOD_CACHE_PATH": str(folder / "cache")}
        found = run(client, "debuginfo", build_id, env=environment).strip()
        check(found.startswith(str(folder / "cache")), f"the client's file: {found}")
        agree("a debuginfod client", addr2line(found, picked), picked)


def refused():
    """What cannot be done says why, and leaves nothing."""
    folder = scratch()
    out = folder / "out.elf"
    none = jitscope("image", "build", "-o", out, status=2)
    check("one source" in none.error, none.story())
    jitscope("image", "build", "--jitdump", folder / "none.dump", "-o", out, status=(1, 3))
    (folder / "bad.dump").write_bytes(b"JiTD" + b"\xff" * 60)
    jitscope("image", "build", "--jitdump", folder / "bad.dump", "-o", out, status=3)
    (folder / "empty.map").write_text("")
    jitscope("image", "build", "--perf-map", folder / "empty.map", "-o", out, status=1)
    (folder / "one.map").write_text("1000 10 one\n")
    out.write_text("mine")
    jitscope("image", "build", "--perf-map", folder / "one.map", "-o", out, status=2)
    equal(out.read_text(), "mine", "an output that was there")
    jitscope("image", "install", out, "--debugdir", folder / "debug", status=2)
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    jitscope("image", "build", "--perf-map", folder / "one.map", "-o", pipe, "--force", status=2)
    check(pipe.is_fifo(), "no pipe or device is replaced, not even with --force")
    jitscope("image", "build", "--jitdump", pipe, "-o", folder / "other.elf", status=2)
    jitscope("image", "build", "--perf-map", folder / "one.map", "-o", "-", status=2)
    jitscope("image", "build", "--perf-map", folder / "one.map", "-p", os.getpid(), "-o", folder / "other.elf",
             status=2)
    jitscope("image", "install", pipe, "--debugdir", folder / "debug", status=2)
    bare = jitscope("image", "build", "--perf-map", folder / "one.map", "-o", out, "--force", "--no-debug")
    check("0 with lines" in bare.error, bare.story())
    equal(run("readelf", "-SW", out).count(".debug"), 0, "debug sections with --no-debug")
    equal(sorted(each.name for each in folder.iterdir()),
          ["bad.dump", "empty.map", "one.map", "out.elf", "pipe"], "files left")


QUIET = (("readelf", "-aW"), ("readelf", "-w"), ("readelf", "-wL"), ("objdump", "-dl"), ("objdump", "-WL"),
         ("eu-readelf", "-a"), ("eu-readelf", "-w"), ("eu-elflint", "--gnu-ld"),
         ("gdb", "-batch", "-nx", "-ex", "info line *0"))


def quiet():
    """No tool has anything to complain of, whatever an image was made from and with what options."""
    folder = scratch()
    (folder / "one.map").write_text("7f0000001000 40 one\n7f0000001040 40 two words\n")
    subprocess.run([program("truth_jit"), "--jitdump", folder, "--functions", "20"], check=True,
                   stdout=subprocess.DEVNULL)
    sources = [("--perf-map", folder / "one.map"), ("--jitdump", next(folder.glob("jit-*.dump")))]
    _, java = max(jdks().items())
    with start_lines(java) as target:
        sources.append(("-p", target.pid))
        image = folder / "image.elf"
        for source in sources:
            for options in (("--dwarf", "4"), ("--dwarf", "5"), ("--dwarf", "5", "--layout", "packed"),
                            ("--no-debug",)):
                if source[0] == "-p" and options != ("--dwarf", "5"):
                    continue  # large; tools_agree() and dwarf_4_and_packed() read others of it
                what = [*source, *options]
                jitscope("image", "build", "-o", image, "--force", *what)
                for command in QUIET:
                    if not shutil.which(command[0]) or (command == ("eu-readelf", "-w") and "--no-debug" in options):
                        continue  # elfutils: "No DWARF information found", as of every stripped file
                    done = subprocess.run([*command, image], capture_output=True, text=True, errors="replace",
                                          env={**os.environ, "LC_ALL": "C", "DEBUGINFOD_URLS": ""}, check=False)
                    equal(done.stderr, "", f"what {' '.join(command)} complains of: {what}")
                    check(not re.search(r"(?im)^\S*(readelf|objdump): (warning|error)", done.stdout),
                          f"{command}: {what}")
    # Images of --no-debug are known as ours, too.
    made = jitscope("image", "build", "--perf-map", folder / "one.map", "-o", image, "--force", "--no-debug",
                    "--json").objects("image")[0]
    jitscope("image", "install", image, "--debugdir", folder / "debug")
    listed = jitscope("image", "list", "--debugdir", folder / "debug", "--json").objects("image")
    equal([each["build_id"] for each in listed], [made["build_id"]], "installed images")
    jitscope("image", "remove", made["build_id"], "--debugdir", folder / "debug")
    jitscope("image", "list", "--debugdir", folder / "debug", status=1)


if __name__ == "__main__":
    harness.main(tools_agree, quiet, dwarf_4_and_packed, other_sources, installed, refused)
