"""tests/programs/Lines.java: a Java program in which every method that burns time stands on one line."""

from harness import PROGRAMS
from runtimes import start_java

FLAGS = ("-XX:CompileCommand=inline,Lines::near", "-XX:CompileCommand=inline,Lines::both",
         "-XX:CompileCommand=dontinline,Lines::far", "-XX:CompileCommand=dontinline,Lines::nest")


def line_of(method):
    for number, line in enumerate((PROGRAMS / "Lines.java").read_text().splitlines(), 1):
        if line.endswith(f"// at: {method}"):
            return number
    raise AssertionError(f"Lines.java has no method {method}")


def start_lines(java, *flags, run=2000):
    """Warm: what runs is compiled."""
    target = start_java(java, "Lines", flags=[*FLAGS, *flags])
    target.go(f"run {run}")
    return target
