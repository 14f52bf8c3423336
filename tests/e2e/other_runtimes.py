"""Erlang, Mono, PHP and LLVM's lli, each with a program of ours whose hot functions are known
(tests/programs/hot.erl, Hot.cs, hot.php, hot.ll): how they are started, and what their functions are called.
"""

import collections
import os
import re
import shutil
import subprocess

from harness import PROGRAMS, Skip, Target, check, equal, scratch

# `command(requests)` is the argument list; without requests the program serves them from standard input.
# `parts`: the name that the program tells of a hot function, and what its method is called by jitscope.
# `source` names JIT code of a recording of perf; `told` is the runtime as `ps` and `doctor` call it, `silent`
# the same command without anything that names its code, `advice` the switch that helps.
Runtime = collections.namedtuple("Runtime", "label told source command silent advice parts counted")

_built = {}


def program(name):
    found = shutil.which(name)
    if not found:
        raise Skip(f"no {name} in PATH")
    return found


def _build(key, *argv):
    """The directory in which a compiler has run once."""
    if key not in _built:
        directory = scratch()
        done = subprocess.run([*argv], cwd=directory, capture_output=True, text=True, check=False)
        equal(done.returncode, 0, f"{' '.join(map(str, argv))}: {done.stdout}{done.stderr}")
        _built[key] = directory
    return _built[key]


def erlang(mode="true"):
    """The mode is that of +JPperf: true (a map and a jitdump), map or dump."""
    erl, erlc = program("erl"), program("erlc")
    directory = _build("erlang", erlc, PROGRAMS / "hot.erl")
    flavour = subprocess.run([erl, "-noshell", "-eval", "io:format(\"~w\", [erlang:system_info(emu_flavor)]), halt()."],
                             capture_output=True, text=True, check=False).stdout
    if flavour != "jit":
        raise Skip(f"this Erlang has no JIT ({flavour or 'before OTP 24'})")

    def command(requests=(), perf=("+JPperf", mode)):
        text = ",".join(f'"{request}"' for request in requests)
        return [erl, "+S", "1", *perf, "-noshell", "-pa", directory, "-eval", f"hot:main([{text}])."]
    parts = {"first/2": r"hot\.first/2", "second/2": r"hot\.second/2"}
    return Runtime(f"Erlang, +JPperf {mode}", "Erlang", "perf map" if mode == "map" else "jitdump", command,
                   lambda: command(perf=()), "+JPperf", parts, "hot.counted/1")


def mono():
    binary = program("mono")
    directory = _build("mono", program("mcs"), "-out:Hot.exe", PROGRAMS / "Hot.cs")

    def command(requests=(), flags=("--jitmap",)):
        return [binary, *flags, directory / "Hot.exe", *requests]
    parts = {name: re.escape(f"{name}(int)") for name in ("Shop.Hot.First", "Shop.Hot.Second")}
    return Runtime("Mono, --jitmap", "Mono", "perf map", command, lambda: command(flags=()), "--jitmap", parts,
                   "Shop.Hot.Counted(int)")


def php(jit, debug):
    """`jit`: tracing or function; `debug`: 0x10 for a map, 0x20 for a jitdump."""
    binary = shutil.which("php8.2") or program("php")
    modules = subprocess.run([binary, "-m"], capture_output=True, text=True, check=False).stdout
    if "OPcache" not in modules:
        raise Skip("this php has no OPcache")
    # What a function costs does not matter: all are compiled when the script is loaded (1205).
    mode = {"tracing": "tracing", "function": "1205"}[jit]

    def command(requests=(), flags=(f"jit_debug={debug}",)):
        switches = [word for each in ("enable_cli=1", "file_update_protection=0", "jit_buffer_size=32M",
                                      f"jit={mode}", *flags) for word in ("-d", "opcache." + each)]
        return [binary, *switches, PROGRAMS / "hot.php", *requests]
    pattern = {"tracing": r"TRACE-\d+\$Shop\\Hot::{}\$\d+", "function": r"Shop\\Hot\.{}"}[jit]
    parts = {name: pattern.format(name) for name in ("first", "second")}
    return Runtime(f"PHP, {jit} JIT, jit_debug={debug}", "PHP", "jitdump" if debug == "0x20" else "perf map", command,
                   lambda: command(flags=()), "opcache.jit_debug", parts, "Shop\\Hot.counted")


def start(runtime, silent=False):
    argv = runtime.silent() if silent else runtime.command()
    target = Target(argv)
    equal(target.hello[1], str(target.pid), f"{runtime.label}: its pid")
    return target


def parts_of(lines):
    """What a program told of its parts: [(name, begin, end)]."""
    found = [line.split()[1:] for line in lines if line.startswith("part ")]
    check(found, f"no parts: {lines}")
    return [(name, int(begin), int(end)) for name, begin, end in found]


def remove_traces(pid):
    """What a runtime left in /tmp for this pid."""
    for name in (f"perf-{pid}.map", f"jit-{pid}.dump"):
        path = os.path.join("/tmp", name)
        if os.path.lexists(path):
            os.unlink(path)
