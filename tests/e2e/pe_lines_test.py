"""Lines and inlined functions of PE images: addr2line says of our ELF file what mingw's own says of the image; perf
shows them after inject.
"""

import pathlib
import random
import re
import subprocess

import harness
import profiles
import wine
from harness import TIME_FACTOR, Skip, check, equal, jitscope, scratch
from inject_test import inject

ASKED = 1000

# No header of the system's: binutils 2.40 takes the file of a function that another file's table row 1 names for the
# unit's own.
SOURCE = """int puts(const char *);
static volatile unsigned sink;
static inline __attribute__((always_inline)) unsigned mix(unsigned x) {
  if (x & 1)
    x = x * 1103515245u + 12345u;
  return x ^ (x >> 7);
}
static inline __attribute__((always_inline)) unsigned twice(unsigned x) {
  x = mix(x);
  sink = x;
  return mix(x + 1);
}
__attribute__((noinline)) unsigned hot_work(unsigned x) {
  for (unsigned i = 0; i < 100000; i++) {
    x = twice(x);
    x += mix(x) + twice(i);
  }
  return x;
}
int main(int argc, char **argv) {
  unsigned x = argc;
  puts("ready");
  for (int i = 0; i < 1000; i++)
    x = hot_work(x);
  return x == 77;
}
"""
MIX, TWICE, WORK = range(3, 8), range(8, 13), range(13, 20)


def places(tool, file, addresses):
    """By address, innermost first: what is known of files and lines."""
    asked = "".join(f"{each:#x}\n" for each in addresses)
    ended = subprocess.run([tool, "-a", "-i", "-e", file], input=asked, check=True, capture_output=True, text=True,
                           timeout=120 * TIME_FACTOR)
    equal(ended.stderr, "", f"{tool} -e {file}")
    told = {}
    for line in ended.stdout.splitlines():
        if line.startswith("0x"):
            chain = told.setdefault(int(line, 16), [])
        elif not line.endswith(":?"):  # mingw's names the file of the nearest symbol there
            # Relative files are those of the folder ".", however often it is said.
            chain.append(re.sub(r"^(\./)+", "", line))
    return told


def code_of(image):
    """Addresses of all functions of an ELF file."""
    listed = subprocess.run(["nm", "-S", image], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in listed.splitlines()]
    return [int(row[0], 16) + offset for row in rows if len(row) == 4 for offset in range(int(row[1], 16))]


def same_lines(image, with_debug, least, least_inlined, *options, wanted=lambda chain: True):
    built = scratch("/var/tmp") / "built.elf"
    jitscope("image", "build", image, "-o", built, *options)
    addresses = code_of(built)
    random.Random(1).shuffle(addresses)
    if least > 1:
        addresses = addresses[:20 * ASKED]
    theirs = places(wine._tool("x86_64-w64-mingw32-addr2line"), with_debug, addresses)
    addresses = [each for each in addresses if wanted(theirs[each])][:ASKED]
    ours = places("addr2line", built, addresses)
    wrong = [(hex(each), theirs[each], ours[each]) for each in addresses if ours[each] != theirs[each]]
    with_line = sum(bool(theirs[each]) for each in addresses)
    inlined = sum(len(theirs[each]) > 1 for each in addresses)
    print(f"     {image.name}: {len(addresses)} addresses, {with_line} with lines, {inlined} in inlined functions, "
          f"{len(wrong)} differ", flush=True)
    check(not wrong, f"{image.name}: {len(wrong)} differ, such as {wrong[:3]}")
    check(with_line >= least and inlined >= least_inlined, f"{image.name}: few lines")


def images_of_programs_have_their_lines():
    program = wine.build_of(SOURCE, "lines.exe", 512)
    of_ours = lambda chain: bool(chain) and "lines.c" in chain[-1]
    for dwarf in ("5", "4"):
        same_lines(program, program, 1, 50, "--dwarf", dwarf, wanted=of_ours)
    # The runtime of mingw beside it.
    same_lines(program, program, 500, 50, wanted=lambda chain: "lines.c" not in str(chain) and "stdio.h" not in str(chain))


def a_split_debug_file_gives_lines():
    program = wine.build_of(SOURCE, "lines.exe", 512)
    debug = wine.split(program)
    same_lines(program, debug, 1, 50, wanted=lambda chain: bool(chain) and "lines.c" in chain[-1])


def wines_own_libraries_have_their_lines():
    folders = [pathlib.Path(each) / "x86_64-windows" for each in ("/usr/lib/x86_64-linux-gnu/wine", "/usr/lib/wine")]
    found = [folder / name for folder in folders for name in ("ntdll.dll", "msvcrt.dll") if (folder / name).exists()]
    if not found:
        raise Skip("no Wine")
    for library in found:
        same_lines(library, library, 500, 100)


def without_debug_information_nothing_is_said():
    program = wine.build_of(SOURCE, "plain.exe", 512, stripped=True)
    built = scratch("/var/tmp") / "built.elf"
    jitscope("image", "build", program, "-o", built)
    check(not any(places("addr2line", built, code_of(built)[:ASKED]).values()), "lines out of nothing")


def perf_shows_lines_after_inject():
    program = wine.build_of(SOURCE, "lines.exe", 512)
    data = scratch("/var/tmp") / "perf.data"
    jitscope("record", "-o", data, "-e", "cpu-clock", "-F", "499", "--", wine.binary(), program, env=wine.environment(),
             limit=120)
    injected = inject(data)
    shown = profiles.run_perf("script", "--no-inline", "-G", "-F", "ip,sym,srcline", "-i", injected.data).stdout
    hot = re.findall(r"hot_work.*\n\s*(\S*)", shown)
    lines = [int(each.rsplit(":", 1)[1]) for each in hot if re.fullmatch(r"(.*/)?lines\.c:\d+", each)]
    print(f"     {len(lines)} of {len(hot)} samples have lines", flush=True)
    check(len(lines) >= 0.99 * len(hot) > 50, f"{hot[:5]} {shown[:500]}")
    check(all(each in (*MIX, *TWICE, *WORK) for each in lines), f"lines of others: {set(lines)}")
    check(any(each in MIX for each in lines), f"none in what was inlined: {set(lines)}")
    image, = injected.images.iterdir()
    symbols = [line.split() for line in subprocess.run(["nm", "-S", image], check=True, capture_output=True,
                                                       text=True).stdout.splitlines()]
    start, size = next((int(row[0], 16), int(row[1], 16)) for row in symbols if row[-1] == "hot_work")
    begin = wine.symbols(program)["hot_work"] + 0x140000000
    theirs = places(wine._tool("x86_64-w64-mingw32-addr2line"), program, range(begin, begin + size))
    ours = places("addr2line", image, range(start, start + size))
    equal([ours[start + i] for i in range(size)], [theirs[begin + i] for i in range(size)], "lines of hot_work")


harness.main(images_of_programs_have_their_lines, a_split_debug_file_gives_lines,
             wines_own_libraries_have_their_lines, without_debug_information_nothing_is_said,
             perf_shows_lines_after_inject)
