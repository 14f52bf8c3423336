"""The command line itself: version, help, examples, and what the shells complete."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import harness
from harness import Skip, check, equal, jitscope, scratch
from runtimes import start_jit_page

COMPLETIONS = harness.HERE.parent.parent / "completions"


def described():
    return json.loads(jitscope("__describe").out[0])


def commands(command, words=()):
    """Each with the words that name it."""
    for each in command["commands"]:
        if each["name"] != "help":
            yield [*words, each["name"]], each
            yield from commands(each, (*words, each["name"]))


def test_version():
    line, = jitscope("--version").out
    check(re.fullmatch(r"jitscope \d+\.\d+\.\d+( \([0-9a-f]{7,40}\+?\))?", line), line)
    equal(line.split()[1], described()["version"], "the version's number")


def test_help():
    overview = jitscope().out
    equal(jitscope("--help").out, overview, "`jitscope` alone")
    equal(jitscope("help").out, overview, "`jitscope help`")
    for words, command in commands(described()["program"]):
        text = jitscope(*words, "--help").out
        equal(jitscope("help", *words).out, text, f"help {words}")
        equal(sum(line.startswith("  # ") for line in text), 3, f"examples of {words}")
        check(any(command["name"] in line for line in overview) or len(words) > 1, f"{words} is not in the list")
    for words in (["nonsense"], ["help", "nonsense"]):
        run = jitscope(*words, status=2)
        equal(run.out, [], f"{words}: stdout")
        check("'nonsense'" in run.error, run.error)


def of_jitscope(line):
    """The words of each jitscope in a line for a shell."""
    for inner in re.findall(r"\$\((.*?)\)", line):
        yield from of_jitscope(inner)
    lexer = shlex.shlex(re.sub(r"\$\(.*?\)", "X", line), posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    words = None
    for token in [*lexer, ";"]:
        if words is not None and token[0] in "|&;":
            yield words
            words = None
        elif words is not None:
            words.append(token)
        elif token == "jitscope":
            words = []


def test_examples():
    program = described()["program"]
    for words, command in [([], program), *commands(program)]:
        if len(words) > 1:
            continue
        equal(len(command["examples"]), 3, f"examples of {words}")
        for example in command["examples"]:
            calls = list(of_jitscope(example["line"]))
            check(calls, f"no jitscope in {example['line']!r}")
            for call in calls:
                run = jitscope("__parse", *call)
                equal(run.out + run.err, [], f"{example['line']!r}")
                check(not words or any(each[:1] == words for each in calls), f"{example['line']!r} is of {words}")
    check("--backend" in jitscope("__parse", "trace", "--backend", "x", status=2).error, "what does not parse is told")


def in_bash(*words, kind=9, directory="/"):
    """What bash offers behind these words, as it takes them apart itself."""
    if not shutil.which("bash"):
        raise Skip("no bash")
    parts = []
    for word in map(str, words):
        # Quoted, : and = are a word's own.
        parts += [word] if word[:1] in "'\"" and word else [part for part in re.split(r"([:=]+)", word) if part] or [""]
    script = (f"source {shlex.quote(str(COMPLETIONS / 'jitscope.bash'))}; "
              f"COMP_WORDS=({shlex.quote(harness.JITSCOPE)} {' '.join(shlex.quote(part) for part in parts)}); "
              f"COMP_CWORD={len(parts)}; COMP_TYPE={kind}; _jitscope; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    run = subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True, cwd=directory, check=False)
    equal(run.stderr, "", f"bash says of {words}")
    return [line for line in run.stdout.split("\n") if line]


def in_zsh(*words):
    if not shutil.which("zsh"):
        raise Skip("no zsh")
    # The completion system needs a terminal; what is given to it is what counts.
    script = (f"compadd() {{ print -l -- \"${{values[@]}}\" }}; _files() {{ print :files }}; "
              f"words=({shlex.quote(harness.JITSCOPE)} {' '.join(shlex.quote(word) for word in words)}); "
              f"CURRENT={len(words) + 1}; PREFIX={shlex.quote(words[-1])}; source {shlex.quote(str(COMPLETIONS / '_jitscope'))}")
    run = subprocess.run(["zsh", "-f", "-c", script], capture_output=True, text=True, check=False)
    equal(run.stderr, "", f"zsh says of {words}")
    return [line for line in run.stdout.split("\n") if line]


def in_fish(line):
    if not shutil.which("fish"):
        raise Skip("no fish")
    home = scratch()
    (home / "bin").mkdir()
    (home / "bin/jitscope").symlink_to(harness.JITSCOPE)
    script = f"set PATH {home}/bin $PATH; source {COMPLETIONS / 'jitscope.fish'}; complete -C {shlex.quote(line)}"
    run = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, cwd=home, check=False,
                         env={"HOME": str(home), "PATH": "/usr/bin:/bin"})
    equal(run.stderr, "", f"fish says of {line!r}")
    return [each.split("\t")[0] for each in run.stdout.split("\n") if each]


def test_completion_in_bash():
    check({"record", "report"} == set(in_bash("re")), in_bash("re"))
    equal(in_bash("image", "in"), ["install"], "a command's own command")
    equal(in_bash("help", "tr"), ["trace"], "help")
    check("--duration" in in_bash("record", "--"), "options")
    equal(in_bash("trace", "--backend", "tr"), ["trampoline"], "choices")
    equal(in_bash("trace", "--backend=tr"), ["trampoline"], "choices behind =")
    equal(in_bash("report", "-s", "method,ti"), ["method,tier"], "keys")
    check(not [each for each in in_bash("record", "-g", "--") if each == "-g"], "what was given is not offered again")
    folder = scratch()
    (folder / "a name.data").write_text("")
    (folder / "sub").mkdir()
    equal(in_bash("report", "-i", "a", directory=folder), ["a name.data"], "files")
    equal(in_bash("report", "--root", "", directory=folder), ["sub"], "folders")


def test_completion_in_zsh():
    equal(in_zsh("image", "in"), ["install"], "a command's own command")
    equal(in_zsh("re"), ["record", "report"], "commands")
    equal(in_zsh("report", "-i", ""), [":files"], "files")
    check("help" in in_zsh(""), "nothing typed yet")


def test_completion_in_fish():
    equal(in_fish("jitscope image in"), ["install"], "a command's own command")
    equal(sorted(in_fish("jitscope re")), ["record", "report"], "commands")
    equal(in_fish("jitscope trace --backend tr"), ["trampoline"], "choices")
    check("help" in in_fish("jitscope "), "nothing typed yet")


def test_manual_pages():
    """Those that the build made."""
    folder = pathlib.Path(harness.JITSCOPE).resolve().parent / "man"
    if not (folder / "jitscope.1").exists():
        raise Skip(f"no manual pages in {folder}: build jitscope_manual")
    pages = sorted(folder.glob("*.1"))
    for command in described()["program"]["commands"]:
        check(command["name"] == "help" or folder / f"jitscope-{command['name']}.1" in pages, f"no page of {command['name']}")
    if not shutil.which("mandoc"):
        raise Skip("no mandoc")
    run = subprocess.run(["mandoc", "-Tlint", "-W", "warning", *pages], capture_output=True, text=True, check=False)
    equal(run.stdout + run.stderr, "", "mandoc says")
    for words, command in commands(described()["program"]):
        page = (folder / f"jitscope-{words[0]}.1").read_text(encoding="utf-8").replace("\\-", "-")
        for option in command["options"]:
            for name in option["names"]:
                check(f"\\fB{name}\\fR" in page, f"{name} is not in the page of {words}")


def test_processes_and_methods():
    with start_jit_page() as target:
        target.write_map()
        pid = str(target.pid)
        equal(in_bash("trace", "-p", pid), [pid], "a process with JIT code")
        equal(in_bash("record", "-p", f"1,{pid}"), [f"1,{pid}"], "one of several")
        check(str(os.getpid()) not in in_bash("trace", "-p", ""), "one without")
        named = [each["method"] for each in harness.bodies(target)]
        begin = named[0][:3]
        offered = jitscope("__complete", "trace", "-p", pid, begin, status=(0, 1)).out
        check(offered and all(line.startswith(begin) for line in offered), f"methods with {begin!r}: {offered}")
    # What a shell would run is offered by none, what it would only change is quoted.
    with start_jit_page() as target:
        names = ["$(touch${IFS}/tmp/x)", "`id`", "a;b", "Outer$Inner.call", "Outer$Inner::other"]
        target.write_map("".join(f"{target.entry(k):x} 8 {name}\n" for k, name in enumerate(names)))
        offered = [line.split("\t")[0] for line in jitscope("__complete", "methods", "-p", target.pid, "").out]
        equal(offered, ["Outer$Inner.call", "Outer$Inner::other"], "methods")
        equal(in_bash("trace", "-p", target.pid, "Outer\\$Inner.c"), ["Outer\\$Inner.call"], "quoted")
        equal(in_bash("trace", "-p", target.pid, "'Outer$Inner.c"), ["Outer$Inner.call"], "in quotes")
        equal(in_bash("methods", f"--pid={target.pid}", "--inlined-by", "Outer\\$Inner::o"), ["other"], "behind a colon")


harness.main(test_version, test_help, test_examples, test_completion_in_bash, test_completion_in_zsh,
             test_completion_in_fish, test_manual_pages, test_processes_and_methods)
