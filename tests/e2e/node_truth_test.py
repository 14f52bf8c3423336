"""Node that compiles, runs and drops functions: what each sample was in, against what it is called.

Two truths: the jitdump's newest LOAD at or before the sample (read here by a parser of our own), and a
log of the program, which says which of its numbered functions ran when.
"""

import atexit
import bisect
import pathlib
import re

import harness
from dumps import Dump, Map, find_dump
from harness import PROGRAMS, check, equal, scratch
from profiles import (all_right, in_elf, inject, jitscope_samples, nothing_wrong, perf_script, record,
                      same_samples, say, score_jitscope, score_perf)
from runtimes import node

FLAGS = ("--expose-gc", "--perf-basic-prof", "--perf-prof", "--interpreted-frames-native-stack")
NUMBERED = re.compile(r"\b(?:churn|inner)_(\d+)\b")


class Churn:
    """One recording, its dump put where jitscope finds it only when told."""

    def __init__(self):
        directory = scratch("/var/tmp")
        log = directory / "log"
        self.taken = record(node(), *FLAGS, PROGRAMS / "churn.js", 120, 30, log, directory=directory)
        self.pid = int(self.taken.out[0].split()[1])
        self.map = pathlib.Path(f"/tmp/perf-{self.pid}.map")
        atexit.register(self.map.unlink, missing_ok=True)
        self.dump_path = find_dump(directory)
        self.dump = Dump(self.dump_path)
        self.told = perf_script(self.taken.data)
        self.intervals = [tuple(map(int, line.split())) for line in log.read_text().splitlines()]
        self._begins = [begin for _, begin, _ in self.intervals]

    def by_dump(self, sample):
        """The raw name; None outside of what the dump knows, and where a newer one ended it."""
        if sample.pid != self.pid:
            return None
        load, overlapped = self.dump.at(sample.ip, sample.time)
        return None if load is None or overlapped else load.name

    def by_log(self, time):
        """The number of the function that the program ran then."""
        i = bisect.bisect_right(self._begins, time) - 1
        if i < 0 or time >= self.intervals[i][2]:
            return None
        return self.intervals[i][0]

    def numbers_agree(self, what, samples, name_of):
        """Samples in numbered functions, and those whose number is not the one that ran."""
        seen = [(self.by_log(time), int(number[1]), time) for time, name in map(name_of, samples)
                if (number := NUMBERED.search(name or "")) and self.by_log(time) is not None]
        wrong = [each for each in seen if each[0] != each[1]]
        print(f"     {what}: {len(wrong)} of {len(seen)} samples in another function than the log says")
        return seen, wrong


_churn = None


def churn():
    global _churn
    if _churn is None:
        _churn = Churn()
    return _churn


def certain_name(sample):
    return sample.time, "" if sample.leaf.get("ambiguous") else sample.leaf.get("raw")


def test_dump():
    run = churn()
    what = "node, recompiling, with the jitdump"
    pairs = same_samples(run.told, jitscope_samples(run.taken.data))
    score = score_jitscope(pairs, run.by_dump, "raw")
    say(what, "jitscope", score)
    injected = inject(run.taken, what)
    if injected:
        say(what, "perf inject --jit, perf script", score_perf(perf_script(injected), run.by_dump))
    all_right(score, what, 300)
    seen, wrong = run.numbers_agree("jitscope with the jitdump", [ours for _, ours in pairs], certain_name)
    check(len(seen) > 1000 and not wrong, f"{len(seen)} samples in numbered functions; wrong: {wrong[:5]}")
    print(f"     {len(run.dump.loads)} loads, {sum(run.dump.at(s.ip, s.time)[1] for s in run.told)} samples in "
          "what a newer load had ended")


def test_map_alone():
    run = churn()
    what = "node, recompiling, with the perf map alone"
    hidden = run.dump_path.rename(scratch("/var/tmp") / run.dump_path.name)
    try:
        pairs = same_samples(run.told, jitscope_samples(run.taken.data))
    finally:
        hidden.rename(run.dump_path)
    # The map has names of the same moment and the same code; only what it calls them is compared.
    lines = Map(run.map)

    def truth(sample):
        name = None if in_elf(sample) else run.by_dump(sample)
        return name if name in lines.ever_at(sample.ip) else None
    score = score_jitscope(pairs, truth, "raw")
    say(what, "jitscope", score)
    say(what, "perf script", score_perf(run.told, truth))
    nothing_wrong(score, what, 300)
    equal(score.unnamed, 0, f"unnamed: {score.examples}")
    check(score.right > 0, f"nothing is certain: {score}")
    seen, wrong = run.numbers_agree("jitscope with the map alone", [ours for _, ours in pairs], certain_name)
    check(not wrong, f"certain, and wrong: {wrong[:5]}")
    run.numbers_agree("perf script with the map", run.told, lambda sample: (sample.time, sample.frames[0].symbol))


if __name__ == "__main__":
    harness.main(test_dump, test_map_alone)
