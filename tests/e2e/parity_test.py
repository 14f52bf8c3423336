"""The names of `jitscope script` beside those of `perf script`, frame by frame.

Every difference must fall under a rule below that says why it is one; at least 99 % of the frames are
equal all the same (how many processes start, and how long that takes, decides how often the rules are needed). What the rules use (symbol tables, kallsyms, the jitdump) is read here.
"""

import bisect
import collections
import functools
import os
import re
import shutil
import subprocess

import harness
from dumps import Dump, find_dump
from harness import PROGRAMS, Skip, check, equal, scratch
from profiles import (inject, jitscope_samples, number, parse_script, perf_script, program, record,
                      run_jitscope, run_perf)
from runtimes import node

WANTED = 0.99


# --- symbols, as readelf and the kernel tell them --------------------------------------------------------

def readelf(path, *options):
    return subprocess.run(["readelf", "--symbols", "--wide", *options, path], capture_output=True, text=True,
                          errors="replace", check=False).stdout


class Symbols:
    """Which symbols may stand for an address: readelf's list of one file."""

    _read = {}

    @classmethod
    def of(cls, path):
        if path not in cls._read:
            cls._read[path] = cls(path)
        return cls._read[path]

    def __init__(self, path):
        text = readelf(path)
        self.at = collections.defaultdict(set)  # names by address
        self.sizes = collections.defaultdict(set)  # (address, size) by name
        for line in text.splitlines():
            words = line.split()
            if len(words) >= 8 and words[0].endswith(":") and words[3] in ("FUNC", "IFUNC", "NOTYPE", "OBJECT"):
                name = words[7].split("@")[0]
                address, size = int(words[1], 16), int(words[2], 0)
                self.at[address].add(name)
                self.sizes[name].add((address, size))
        self._path = path

    @functools.cached_property
    def objects(self):
        """Names of data, readable."""
        rows = (line.split(None, 7) for line in readelf(self._path, "--demangle").splitlines())
        return {plain(words[7].split("@")[0]) for words in rows if len(words) == 8 and words[3] == "OBJECT"}

    def same_place(self, one, other):
        """Names of one address, or of ranges that overlap."""
        for start, size in self.sizes.get(one, ()):
            for begin, length in self.sizes.get(other, ()):
                if start < begin + max(length, 1) and begin < start + max(size, 1):
                    return True
        return False


_kallsyms = None


def kallsyms():
    """{name: addresses}, sorted addresses"""
    global _kallsyms
    if _kallsyms is None:
        names = collections.defaultdict(set)
        with open("/proc/kallsyms", encoding="utf-8") as file:
            for line in file:
                address, _, name = line.split()[:3]
                names[name].add(int(address, 16))
        _kallsyms = names, sorted({each for some in names.values() for each in some})
    return _kallsyms


def kernel_alias(one, other):
    names, _ = kallsyms()
    return bool(names.get(one, set()) & names.get(other, set()))


def kernel_holds(name, ip):
    """The symbol begins at the last address at or before ip."""
    names, addresses = kallsyms()
    i = bisect.bisect_right(addresses, ip) - 1
    return i >= 0 and addresses[i] in names.get(name, set())


# --- rules: (what it is, a function of perf's frame, ours, and where they stand) -------------------------

Place = collections.namedtuple("Place", "sample index dump")  # index: 0 is the leaf; sample: perf's


def is_kernel(frame):
    return frame.ip >= 1 << 63


def plain(name):
    """Without spaces, clone suffixes in brackets and parameter lists: what demanglers differ in."""
    name = re.sub(r"\[clone [^]]*\]|\[abi:[^]]*\]", "", name)
    name = name.replace("(anonymous namespace)", "{anonymous}")
    return re.sub(r"\s+", "", re.sub(r"\(.*", "", name))


def demangled_otherwise(theirs, ours, _):
    return plain(theirs.symbol) == plain(ours.symbol) != ""


def alias(theirs, ours, _):
    """Several symbols at one place; readelf knows both there."""
    if is_kernel(theirs):
        return kernel_alias(theirs.symbol, ours.symbol)
    return os.path.isfile(theirs.dso) and Symbols.of(theirs.dso).same_place(theirs.symbol, ours.symbol)


def perf_has_none(theirs, ours, _):
    """We name what perf does not: by a symbol that the kernel or the file has there."""
    if theirs.symbol != "[unknown]" or ours.symbol == "[unknown]":
        return False
    if is_kernel(theirs):
        return kernel_holds(ours.symbol, theirs.ip)
    if ours.dso == "[vdso]":
        return ours.symbol.startswith("__vdso_")
    if not os.path.isfile(theirs.dso):
        return False
    return ours.symbol in Symbols.of(theirs.dso).sizes or ours.symbol.endswith("@plt")


def plt_entry(theirs, ours, _):
    """perf 6.1 counts PLT entries from the section's begin and is off where there are several sections. _init has no
    size: perf lets it reach over what has no name up to the first symbol of .text.
    """
    if (theirs.symbol, ours.symbol) == ("_init", "[unknown]"):
        return True
    return ours.symbol.endswith("@plt") and (theirs.symbol.endswith("@plt") or theirs.symbol in
                                             ("[unknown]", "_init", ".plt", ".plt.sec", ".plt.got"))


def kernel_entry_of_perf(theirs, ours, _):
    """perf takes symbols from a kernel image or its cache, we from /proc/kallsyms: it holds ours."""
    return is_kernel(theirs) and kernel_holds(ours.symbol, theirs.ip)


def called_at_the_end(theirs, ours, place):
    """The call is a function's last instruction, since it never returns: its return address is where the next
    function begins. perf looks that address up, we the byte before."""
    return place.index > 0 and theirs.offset == 0


def in_exec(theirs, ours, place):
    """Sampled in the kernel when the old program was gone and the new one not yet mapped: perf still has the
    old mappings."""
    return ours.dso == "[unknown]" and any("exec" in frame.symbol for frame in place.sample.frames
                                           if is_kernel(frame))


def data_object(theirs, ours, _):
    """A walk that went astray: the address lies in data, which perf names as well."""
    return ours.symbol == "[unknown]" and os.path.isfile(theirs.dso) and (
        plain(theirs.symbol) in Symbols.of(theirs.dso).objects)


ELF_RULES = (
    ("the call is the last instruction", called_at_the_end),
    ("in the middle of exec", in_exec),
    ("aliases of one place", alias),
    ("demangled otherwise", demangled_otherwise),
    ("a PLT entry", plt_entry),
    ("data, not code", data_object),
    ("named by us alone", perf_has_none),
    ("the kernel's symbol by kallsyms", kernel_entry_of_perf),
)


class Comparison:
    def __init__(self, rules):
        self.rules = rules
        self.frames = self.equal = self.nameless = self.dropped = 0
        self.counts = collections.Counter()
        self.examples = {}
        self.unexplained = collections.Counter()

    def take(self, theirs, ours, place, idle=False):
        if theirs.symbol == ours.symbol == "[unknown]":
            self.nameless += 1
            return
        self.frames += 1
        if theirs.symbol == ours.symbol:
            self.equal += 1
            return
        for what, rule in self.rules:
            if rule(theirs, ours, place):
                self.counts[what] += 1
                self.examples.setdefault(what, f"{theirs.symbol} -> {ours.symbol} ({ours.dso})")
                # Every sample of an idle CPU has the same boot-time chain: how many there are says how idle
                # the machine was, not how alike the names are. Nor is a name less alike where perf has none.
                self.frames -= idle or theirs.symbol == "[unknown]"
                return
        self.unexplained[f"{theirs.symbol}+{theirs.offset} ({theirs.dso}) -> {ours.symbol} ({ours.dso})"] += 1

    def judge(self, what):
        everything = self.frames + self.nameless
        share = (self.equal + self.nameless) / everything
        print(f"     {what}: {100 * share:.3f} % of {everything} frames equal; of {self.frames} with a name on "
              f"either side {100 * self.equal / self.frames:.3f} %; perf dropped {self.dropped} chains")
        for rule, count in self.counts.most_common():
            print(f"       {count:7} {rule}: {self.examples[rule]}")
        for example, count in self.unexplained.most_common(20):
            print(f"       {count:7} not explained: {example}")
        equal(sum(self.unexplained.values()), 0, f"{what}: differences that no rule explains")
        check(share >= WANTED, f"{what}: {100 * share:.3f} % equal")


def jitscope_text(data, *options):
    """Names as the text has them, addresses from the JSON: those are the sample's own."""
    text = run_jitscope("script", "-i", data, *options, limit=300).stdout
    shown = list(parse_script(text.splitlines()))
    told = jitscope_samples(data, *options, limit=300)
    equal(len(shown), len(told), "samples in the text and in the JSON")
    found = []
    for sample, named in zip(shown, told):
        equal(len(sample.frames), len(named.frames), f"frames in the text and in the JSON of {sample}")
        found.append(sample._replace(frames=[frame._replace(ip=number(fields["ip"]))
                                             for frame, fields in zip(sample.frames, named.frames)]))
    return found


def same_address(theirs, ours):
    """perf shows user addresses of a chain as offsets in their file: the place in the page stays, but in
    the files that inject made."""
    if is_kernel(theirs):
        return theirs.ip == ours.ip
    return theirs.ip & 0xFFF == ours.ip & 0xFFF or "jitted-" in theirs.dso


def compare(what, told, ours, comparison, dump=None):
    equal(len(ours), len(told), f"{what}: samples")
    for theirs, mine in zip(told, ours):
        equal((mine.comm, mine.tid, mine.cpu, mine.time // 1000, mine.event),
              (theirs.comm, theirs.tid, theirs.cpu, theirs.time // 1000, theirs.event), f"{what}: a sample")
        if not theirs.frames and mine.frames:
            # A stack walk that went astray left a value that looks like a context marker and is none:
            # perf drops the whole chain then, we only that entry.
            comparison.dropped += 1
            continue
        check(len(theirs.frames) == len(mine.frames) and all(map(same_address, theirs.frames, mine.frames)),
              f"{what}: other addresses: perf {theirs}, jitscope {mine}")
        for index, (their_frame, my_frame) in enumerate(zip(theirs.frames, mine.frames)):
            comparison.take(their_frame, my_frame, Place(theirs, index, dump), idle=theirs.tid == 0)
    check(comparison.dropped <= len(told) // 50, f"{what}: perf has no chain for {comparison.dropped} samples")


# --- the work that is recorded ---------------------------------------------------------------------------

WORK = r"""
import os, subprocess, sys
source = "/".join([sys.argv[1], "a.cc"])
with open(source, "w") as file:
    file.write("#include <map>\n#include <string>\n#include <iostream>\n#include <regex>\n"
               "int main() { std::map<std::string, int> m; std::regex r(\"a+b\");\n"
               "  for (int i = 0; i < 300000; i++) m[std::to_string(i % 999)] += i;\n"
               "  std::cout << m.size() << std::regex_match(\"aab\", r) << '\\n'; }\n")
jobs = [["g++", "-O1", source, "-o", source[:-3]],
        ["perl", "-e", "my %h; for (my $i = 0; $i < 1500000; $i++) { $h{$i % 5000} .= $i & 1; }"],
        ["bash", "-c", "for ((i = 0; i < 150000; i++)); do s=$s; (( t += i )); done; for i in {1..60}; do "
                       "ls -lR /usr/share/doc > /dev/null; done"],
        [sys.executable, "-c", "import json, zlib; d = [{str(i): [i] * 5} for i in range(20000)]\n"
                               "for i in range(8): zlib.compress(json.dumps(d).encode())"]]
running = [subprocess.Popen(job, stdout=subprocess.DEVNULL) for job in jobs]
failed = [job for job, each in zip(jobs, running) if each.wait() != 0]
sys.exit(1 if failed else 0)
"""


def needs(*tools):
    missing = [tool for tool in tools if not shutil.which(tool)]
    if missing:
        raise Skip(f"not in PATH: {', '.join(missing)}")


def test_elf_system_wide():
    needs("g++", "perl", "bash", "python3", "readelf")
    if os.geteuid() != 0:
        raise Skip("needs root for a system-wide recording with the kernel")
    directory = scratch("/var/tmp")
    work = directory / "work.py"
    work.write_text(WORK)
    taken = record("python3", work, directory, options=("-a", "-g"), frequency=997, directory=directory)
    # Inlined frames are off on both sides: they are not ELF symbols.
    told = perf_script(taken.data, "--no-inline", fields=None)
    comparison = Comparison(ELF_RULES)
    compare("system-wide", told, jitscope_text(taken.data), comparison)
    check(comparison.frames > 20_000, f"only {comparison.frames} frames")
    kernel = sum(is_kernel(frame) for sample in told for frame in sample.frames)
    check(kernel > 2000, f"only {kernel} kernel frames")
    comparison.judge("system-wide, ELF and kernel")


def test_elf_without_chains():
    # A flat recording has another layout: the frame stands in the sample's own line.
    needs("g++", "readelf")
    taken = record("g++", "-x", "c++", "-std=c++23", "-O2", "-c", "-o", "/dev/null", PROGRAMS / "truth_jit.cc", frequency=4000)
    comparison = Comparison(ELF_RULES)
    told = perf_script(taken.data, "--no-inline", fields=None)
    compare("flat", told, jitscope_text(taken.data), comparison)
    check(comparison.frames > 1000, f"only {comparison.frames} frames")
    comparison.judge("flat")


def test_layouts_are_alike():
    """The text, but for addresses, names and files."""
    taken = record("sh", "-c", "exec ls -R /usr/share/doc > /dev/null", options=("-g",), frequency=2000)
    theirs = run_perf("script", "--no-inline", "-i", taken.data).stdout.splitlines()
    ours = run_jitscope("script", "-i", taken.data).stdout.splitlines()
    equal(len(ours), len(theirs), "lines")
    for count, (mine, their) in enumerate(zip(ours, theirs), 1):
        if their.startswith("\t"):
            # The address ends in the same column; what it is says same_address().
            mine, their = (len(re.match(r"\t *[0-9a-f]+ ", text)[0]) for text in (mine, their))
        equal(mine, their, f"line {count}")


# --- jitdump: perf inject, with its known faults ----------------------------------------------------------

def perf_has_no_name(theirs, ours, place):
    """The mapping that inject wrote was erased by a later mmap of the same pages, or moved away."""
    return theirs.symbol == "[unknown]" and named_by_dump(ours, place)


def perf_has_another(theirs, ours, place):
    """Of two that overlap perf keeps what sticks out of the older one alive."""
    return named_by_dump(ours, place)


def we_have_none(theirs, ours, place):
    """A newer load has ended what perf still names: it is not there any more."""
    return ours.symbol == "[unknown]" and all(
        place.dump.at(address, place.sample.time)[1] for address in (ours.ip, ours.ip - 1))


def not_loaded_yet(theirs, ours, place):
    """The record came a little after the sample: nothing else lay there, so it was there already."""
    return any(load.start <= address < load.end and 0 < load.time - place.sample.time < 100_000_000
               and load.name == ours.symbol for load in place.dump.loads for address in (ours.ip, ours.ip - 1))


def named_by_dump(ours, place):
    for address in (ours.ip, ours.ip - 1):  # callers: the call lies before the return address
        load, overlapped = place.dump.at(address, place.sample.time)
        if load is not None and not overlapped and load.name == ours.symbol:
            return True
    return False


JITDUMP_RULES = (
    ("perf has no name, the dump has", perf_has_no_name),
    ("perf has another name than the dump's newest load", perf_has_another),
    ("ended by a newer load", we_have_none),
    ("ran before its record", not_loaded_yet),
    *ELF_RULES,
)


def compare_with_inject(what, taken, dump, options=("--no-inline",)):
    injected = inject(taken, what)
    if not injected:
        raise Skip("perf inject --jit does not work here")
    told = perf_script(injected, *options, fields="comm,tid,time,event,ip,sym,symoff,dso")
    comparison = Comparison(JITDUMP_RULES)
    compare(what, told, jitscope_text(taken.data), comparison, dump)
    jitted = sum("jitted-" in frame.dso for sample in told for frame in sample.frames)
    check(jitted > 1000, f"{what}: only {jitted} frames of the dump")
    comparison.judge(what)


def test_jitdump_of_node():
    needs("readelf")
    directory = scratch("/var/tmp")
    taken = record(node(), "--expose-gc", "--perf-prof", "--interpreted-frames-native-stack",
                   PROGRAMS / "churn.js", 60, 30, directory / "log", options=("-g",), frequency=2000,
                   directory=directory)
    compare_with_inject("node with its jitdump", taken, Dump(find_dump(directory)))


def test_jitdump_of_truth():
    needs("readelf")
    directory = scratch("/var/tmp")
    taken = record(program("truth_jit"), "--jitdump", directory, "--functions", 1500, directory=directory)
    compare_with_inject("truth_jit with its jitdump", taken, Dump(find_dump(directory)))


if __name__ == "__main__":
    harness.main(test_elf_system_wide, test_elf_without_chains, test_layouts_are_alike, test_jitdump_of_node,
                 test_jitdump_of_truth)
