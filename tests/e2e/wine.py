"""Windows programs under Wine: built by mingw, run in a prefix of their own."""

import atexit
import os
import pathlib
import shutil
import subprocess

from harness import TIME_FACTOR, Skip, scratch

# Two hot functions with work in a known ratio, one of them static, called by a third that does nothing else.
SOURCE = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
__attribute__((noinline)) static unsigned hot_static(unsigned x) {
  for (int i = 0; i < 20000; i++) x = x * 1103515245u + 12345u;
  return x;
}
__attribute__((noinline)) unsigned hot_global(unsigned x) {
  for (int i = 0; i < 60000; i++) x = x * 1103515245u + 12345u;
  return x;
}
__attribute__((noinline)) unsigned both(unsigned x) { return hot_static(x) + hot_global(x); }
int main(int argc, char **argv) {
  double seconds = argc > 1 ? atof(argv[1]) : 3;
  unsigned x = 1;
  puts("ready");
  fflush(stdout);
  for (clock_t begin = clock(); (double)(clock() - begin) / CLOCKS_PER_SEC < seconds;)
    for (int i = 0; i < 20; i++) x = both(x);
  printf("%u\\n", x);
  return 0;
}
"""
SHARE = 3.0  # of hot_global to hot_static

# The same work in a DLL, of which one function is exported, and a program that does nothing but call it.
LIBRARY = """
static volatile unsigned rounds = 20000;
__attribute__((noinline)) static unsigned hot_static(unsigned x) {
  for (unsigned i = 0; i < rounds; i++) x = x * 1103515245u + 12345u;
  return x;
}
__declspec(dllexport) __attribute__((noinline)) unsigned hot_global(unsigned x) {
  for (unsigned i = 0; i < 3 * rounds; i++) x = x * 1103515245u + 12345u;
  return x + hot_static(x);
}
"""
CALLER = """
#include <stdio.h>
__declspec(dllimport) unsigned hot_global(unsigned);
int main(void) {
  puts("ready");
  fflush(stdout);
  for (unsigned x = 1; x != 0;) x = hot_global(x) | 1;
  return 0;
}
"""

KEPT = 60  # seconds for which the server waits for another program: starting it anew takes some

_prefix = None


def _tool(*names):
    for name in names:
        found = shutil.which(name) or (name if os.access(name, os.X_OK) else None)
        if found:
            return found
    raise Skip(f"no {names[0]}")


def _compile(image, source, file_alignment, stripped, *options):
    written = image.with_suffix(".c")
    written.write_text(source)
    compiler = _tool("x86_64-w64-mingw32-gcc", "x86_64-w64-mingw32-gcc-win32")
    subprocess.run([compiler, "-O1", "-g", "-o", image, written, *options, f"-Wl,--file-alignment,{file_alignment}"],
                   check=True)
    if stripped:
        subprocess.run([_tool("x86_64-w64-mingw32-strip"), image], check=True)
    return image


def build(name, file_alignment, stripped):
    """The program; sections lie at multiples of `file_alignment` in its file."""
    return _compile(scratch("/var/tmp") / name, SOURCE, file_alignment, stripped)


def build_with_library(file_alignment, stripped):
    """A program that runs until it is ended, and the DLL whose functions it calls."""
    folder = scratch("/var/tmp")
    library = _compile(folder / "work.dll", LIBRARY, file_alignment, stripped, "-shared")
    return _compile(folder / "caller.exe", CALLER, file_alignment, stripped, library), library


def symbols(program):
    """The RVAs of the hot functions of one that is not stripped."""
    listed = subprocess.run([_tool("x86_64-w64-mingw32-nm"), program], check=True, capture_output=True, text=True).stdout
    return {words[2]: int(words[0], 16) - 0x140000000 for words in map(str.split, listed.splitlines())
            if len(words) == 3 and words[2].startswith("hot_")}


def binary():
    return _tool("/usr/lib/wine/wine64", "wine64")


def environment():
    """With a prefix that is ready; it is gone at the end, and its server with it."""
    global _prefix
    if _prefix is None:
        loader = binary()
        _prefix = scratch("/var/tmp") / "prefix"
        _prefix.mkdir()
        atexit.register(_end_server)  # registered after the removal of the folder: it runs before that
        _server(f"-p{KEPT}")
        # Not into a pipe: Wine's services have it from there, and stay.
        log = _prefix.parent / "wineboot.log"
        with open(log, "wb") as written:
            done = subprocess.run([loader, "wineboot", "-i"], env=_variables(), stdout=written, stderr=written,
                                  check=False, stdin=subprocess.DEVNULL, timeout=240 * TIME_FACTOR)
        if done.returncode != 0 or not (_prefix / "drive_c/windows/system32/ntdll.dll").exists():
            raise Skip(f"wine makes no prefix here: {log.read_bytes()[-300:].decode(errors='replace')}")
    return _variables()


def _variables():
    return {**os.environ, "WINEPREFIX": str(_prefix), "WINEDEBUG": "-all", "WINEDLLOVERRIDES": "mscoree,mshtml="}


def _end_server():
    for order in ("-k", "-w"):
        _server(order)


def _server(order):
    server = next((each for each in ("/usr/lib/wine/wineserver64", "/usr/lib/wine/wineserver") if os.access(each, os.X_OK)),
                  shutil.which("wineserver"))
    if server:
        subprocess.run([server, order], env=_variables(), check=False, stdin=subprocess.DEVNULL,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60 * TIME_FACTOR)


def pid_of(program):
    """Of the process that runs it."""
    name = program.name.encode()
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words and words[0].endswith(name):
            return int(process.name)
    return None
