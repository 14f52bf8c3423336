"""The flame page in a real browser: what it draws, zooms, searches and reverses is what the stacks say.

Screenshots are left in the working directory (flame_*.png). Times are printed, never judged.
"""

import os
import pathlib
import re
import subprocess

import folded_maker
import harness
from browser import Browser
from harness import check, equal

PROGRAM = pathlib.Path(os.environ.get(
    "JITSCOPE_PROGRAMS", pathlib.Path(harness.JITSCOPE).parent / "programs")) / "flame_from_folded"
MARKS = re.compile(r"_\[[kji]\]$")
HERE = pathlib.Path.cwd()


def page_of(*words):
    if not PROGRAM.exists():
        raise harness.Skip(f"{PROGRAM} is not built")
    subprocess.run([PROGRAM, *map(str, words)], check=True, stderr=subprocess.DEVNULL)
    return pathlib.Path(words[-1])


def page_of_stacks(counted, name):
    folder = harness.scratch()
    folded_maker.write(folder / "in.folded", counted)
    return page_of(folder / "in.folded", folder / name)


def name_of(frame):
    return MARKS.sub("", frame)


def share_of(counted, wanted):
    """Of all samples, those with a frame on their stack whose name says yes."""
    total = sum(counted.values())
    return sum(samples for frames, samples in counted.items() if any(wanted(name_of(each)) for each in frames)) / total


def state(browser):
    browser.settle()
    return browser.run("""
        const { zoom, selected, search, settings, redraw, counts, visible } = window.jitscope;
        const box = document.getElementById('canvas').getBoundingClientRect();
        return { zoom, selected, search, settings, redraw, counts, left: box.left, top: box.top,
                 height: box.height, visible };""")


def click_frame(browser, frame, now):
    browser.click_at(now["left"] + frame["x"] + frame["width"] / 2, now["top"] + frame["y"] + frame["height"] / 2)


def on_screen(now, frame):
    return 0 <= frame["y"] <= now["height"] - frame["height"]


def text_of(browser, selector):
    return browser.run("return document.querySelector(arguments[0]).textContent", selector)


def look(browser, name, least_colours=40):
    """Takes a picture, which must show something, and comes back to the page."""
    here = browser.run("return location.href")
    png = browser.screenshot(HERE / f"{name}.png")
    colours, most = browser.colours(png)
    check(colours >= least_colours and most < 0.9, f"{name}: {colours} colours, {most:.0%} of one: blank?")
    browser._ask("POST", browser.session + "/url", {"url": here})


def legend_is_there(browser, *words):
    legend = text_of(browser, "#legend")
    for word in words:
        check(word in legend, f"legend lacks {word!r}: {legend}")
    swatches = browser.run("""return [...document.querySelectorAll('#legend .swatch')].map(
        (each) => getComputedStyle(each).backgroundColor)""")
    check(len(swatches) >= 4 and len(set(swatches)) == len(swatches), f"swatches {swatches}")


def explore(browser, counted):
    """Zoom by click and by key, search, reverse: against the stacks themselves."""
    total = sum(counted.values())
    now = state(browser)
    root = now["visible"][0]
    equal((root["name"], root["total"], now["zoom"]["depth"]), ("all", total, 0), "root")
    firsts = {frame["name"]: frame["total"] for frame in now["visible"] if frame["depth"] == 1}
    for name, drawn in firsts.items():
        wanted = sum(samples for frames, samples in counted.items() if name_of(frames[0]) == name)
        equal(drawn, wanted, f"total of {name}")

    # A click zooms: the frame fills the width, and only its stacks are below it.
    frame = max((each for each in now["visible"] if each["depth"] == 7 and on_screen(now, each)),
                key=lambda each: each["width"])
    click_frame(browser, frame, now)
    zoomed = state(browser)
    equal((zoomed["zoom"]["name"], zoomed["zoom"]["depth"]), (frame["name"], 7), "zoom by click")
    wide = next(each for each in zoomed["visible"] if each["node"] == frame["node"])
    check(wide["x"] == 0 and abs(wide["width"] - root["width"]) < 0.01, f"zoomed frame is not full: {wide}")
    check(frame["name"] in text_of(browser, "#details"), "the panel does not describe the zoomed frame")
    check(frame["name"] in text_of(browser, "#live"), "the live region does not say the zoomed frame")
    browser.press("Escape")
    equal(state(browser)["zoom"]["depth"], 6, "Escape zooms out one step")
    browser.press("Home")
    equal(state(browser)["zoom"]["depth"], 0, "Home shows all")

    # Keys alone: select inwards, zoom, back.
    up = "ArrowDown" if now["settings"]["icicle"] else "ArrowUp"
    browser.press(up, up, up)
    selected = state(browser)["selected"]
    check(selected not in (None, "all"), f"arrows select nothing: {selected}")
    check(selected in text_of(browser, "#live"), "the live region does not say the selected frame")
    browser.press("Enter")
    equal(state(browser)["zoom"]["name"], selected, "Enter zooms into what is selected")
    browser.press("Backspace", "Home")
    equal(state(browser)["zoom"]["depth"], 0, "zoomed out by keys")

    # Search.
    browser.press("/", r"HashMap\d+\.(get|put)")
    found = state(browser)["search"]
    pattern = re.compile(r"HashMap\d+\.(get|put)")
    wanted = share_of(counted, pattern.search)
    check(abs(found["share"] - wanted) < 1e-9, f"search found {found['share']}, stacks say {wanted}")
    check(f"{wanted * 100:.2f}%" in text_of(browser, "#matched"), f"shown: {text_of(browser, '#matched')}")
    now = state(browser)
    highlighted = {each["colour"] for each in now["visible"] if pattern.search(each["name"])}
    others = {each["colour"] for each in now["visible"] if not pattern.search(each["name"])}
    check(len(highlighted) == 1 and not highlighted & others, f"matches are not told apart: {highlighted}")
    browser.press("Enter", "n")
    check(pattern.search(state(browser)["selected"]), "n selects no match")
    browser.press("Escape")
    equal(state(browser)["search"]["text"], "", "Escape clears the search")

    # An expression that is none is searched for as it stands.
    browser.press("/", "run((")
    equal(browser.run("return document.getElementById('search').getAttribute('aria-invalid')"), "true", "invalid mark")
    browser.press("Escape", "Home")

    # Reversed, the first row is the leaves, the heaviest first.
    browser.press("r")
    now = state(browser)
    check(now["settings"]["reverse"], "r does not reverse")
    leaves = {}
    for frames, samples in counted.items():
        # The page tells frames of one name apart by kind, and draws unnamed ones as their file.
        leaves[frames[-1]] = leaves.get(frames[-1], 0) + samples
    first_row = [each for each in now["visible"] if each["depth"] == 1]
    drawn = sorted((each["total"] for each in first_row), reverse=True)
    equal(drawn, [each["total"] for each in first_row], "order of the reversed row")
    equal(drawn, sorted(leaves.values(), reverse=True)[:len(drawn)], "totals of leaves")
    # The second row: callers of the heaviest leaf.
    leaf = max(leaves, key=leaves.get)
    callers = {}
    for frames, samples in counted.items():
        if frames[-1] == leaf and len(frames) > 1:
            callers[frames[-2]] = callers.get(frames[-2], 0) + samples
    below = [each["total"] for each in now["visible"]
             if each["depth"] == 2 and each["x"] < first_row[0]["x"] + first_row[0]["width"] - 0.01]
    equal(below, sorted(callers.values(), reverse=True)[:len(below)], "callers of the heaviest leaf")
    browser.press("r")
    equal(state(browser)["settings"]["reverse"], False, "r turns back")

    # Upside down.
    before = state(browser)["settings"]["icicle"]
    browser.press("o")
    now = state(browser)
    equal(now["settings"]["icicle"], not before, "o turns it")
    root = now["visible"][0]
    equal(root["y"] < now["height"] / 2, not before, "place of the root")
    browser.press("o")
    browser.press("?")
    check(browser.run("return document.getElementById('keys').open"), "? shows no keys")
    browser.press("Escape")


def whole(count, name):
    counted = folded_maker.stacks(count)
    page = page_of_stacks(counted, f"{name}.html")
    size = page.stat().st_size
    check(size < 30e6, f"{count} stacks make a page of {size} bytes")
    with Browser(1400, 900) as browser:
        for scheme in ("dark", "light"):
            browser.colour_scheme(scheme)
            browser.open(page)
            look(browser, f"{name}_{scheme}")
        browser.open(page)
        equal(state(browser)["counts"]["entries"], count, "distinct stacks")
        legend_is_there(browser, "JIT", "Kernel", "Native", "No name")
        explore(browser, counted)
        slow = browser.run("return [window.jitscope.loadTime, window.jitscope.buildTime, window.jitscope.redraw]")
        times = browser.run_async("""
            const [done] = arguments;
            const times = [];
            const { graph } = page;
            const frames = window.jitscope.visible.filter((each) => each.width > 30).slice(0, 100);
            const next = () => {
              if (times.length === frames.length) {
                page.zoomTo(0);
                done(times.sort((a, b) => a - b));
                return;
              }
              graph.zoom = frames[times.length].node;
              graph.stale = true;
              const begin = performance.now();
              graph.draw();
              times.push(performance.now() - begin);
              requestAnimationFrame(next);
            };
            next();""")
        print(f"     {count} stacks: {size / 1e6:.1f} MB, loaded in {slow[0]:.0f} ms, tree in {slow[1]:.0f} ms; "
              f"{len(times)} zooms drawn in {times[len(times) // 2]:.1f} ms (median), {times[-1]:.1f} ms (slowest), "
              f"slowest of all {slow[2]['slowest']:.1f} ms")
        browser.press("r")
        browser.screenshot(HERE / f"{name}_reversed.png")
        equal(browser.errors(), [], "errors in the console")


def thousand_stacks():
    whole(1_000, "flame_1k")


def hundred_thousand_stacks():
    whole(100_000, "flame_100k")


def all_kinds_of_frames():
    page = page_of("--demo", harness.scratch() / "demo.html")
    with Browser(1400, 900) as browser:
        for scheme in ("dark", "light"):
            browser.colour_scheme(scheme)
            browser.open(page)
            look(browser, f"flame_demo_{scheme}", 20)
        legend_is_there(browser, "JIT c2", "JIT c1-full", "JIT, inlined", "Kernel", "Native", "Interpreted",
                        "Runtime stub", "No name")

        def panel_of(start):
            now = state(browser)
            frame = max((each for each in now["visible"] if each["name"].startswith(start)),
                        key=lambda each: each["width"])
            browser.move_to(now["left"] + frame["x"] + frame["width"] / 2, now["top"] + frame["y"] + 8)
            browser.settle()
            return text_of(browser, "#details")

        put = panel_of("java.util.HashMap.put")
        for word in ("Ljava/util/HashMap;::put", "HashMap.java:610", "jitdump", "c2", "Total", "Self"):
            check(word in put, f"panel of put lacks {word!r}: {put}")
        cache = panel_of("org.example.Cache.get(int)?")
        check("org.example.Other.run()" in cache and "ambiguous" in cache, f"candidates: {cache}")
        unnamed = panel_of("[memfd:jit (deleted)]")
        check("JIT code without a map or dump" in unnamed, f"reason: {unnamed}")

        # One thread only, other event, grouped by thread.
        total = state(browser)["visible"][0]["total"]
        equal(total, 120, "samples of the clock")
        choose = """
            const select = document.getElementById(arguments[0]);
            select.value = arguments[1](select);
            """.replace("arguments[1](select)", "[...select.options].find((each) => "
                        "each.textContent.includes(arguments[1])).value") + "select.dispatchEvent(new Event('change'));"
        browser.run(choose, "threads", "C2 Compiler")
        equal(state(browser)["visible"][0]["total"], 24, "samples of one thread")
        browser.run(choose, "threads", "java (100)")
        equal(state(browser)["visible"][0]["total"], 100, "samples of one process")
        browser.run(choose, "threads", "all")
        browser.run(choose, "grouping", "thread")
        rows = {each["name"]: each["total"] for each in state(browser)["visible"] if each["depth"] == 1}
        equal(rows, {"java (100) / java (100)": 76, "java (100) / C2 Compiler (101)": 24,
                     "node (200) / node (200)": 20}, "threads")
        browser.run(choose, "event", "page-faults")
        equal(state(browser)["visible"][0]["total"], 3, "samples of the other event")
        equal(browser.errors(), [], "errors in the console")


def hostile_names_are_text():
    evil = ["</script><script>document.title='owned'</script>", "<img src=x onerror=document.title='owned'>",
            "<!-- <script>", "{{data}}", "${7*7}", "\u2028\u202e", "a" * 5000]
    counted = {("main", name.replace(";", ":")): 1 + i for i, name in enumerate(evil)}
    page = page_of_stacks(counted, "evil.html")
    with Browser(1000, 700) as browser:
        browser.open(page)
        names = {each["name"] for each in state(browser)["visible"]}
        for name in evil:
            check(name in names, f"{name[:60]!r} is not drawn as it is")
        for frame in state(browser)["visible"]:
            now = state(browser)
            click_frame(browser, next(each for each in now["visible"] if each["node"] == frame["node"]), now)
            browser.settle()
            check(frame["name"] in text_of(browser, "#details"), f"{frame['name'][:60]!r} is not in the panel")
            browser.press("Home")
        equal(browser.run("return document.querySelectorAll('img, script').length"), 2, "elements of the template only")
        check("owned" not in browser.run("return document.title"), "a name ran as a script")
        equal(browser.errors(), [], "errors in the console")


def comparison():
    before = folded_maker.stacks(1_000)
    after = dict(before)
    grown, shrunk = list(before)[10], list(before)[400]
    after[grown] += 3000
    after[shrunk] = 1
    folder = harness.scratch()
    folded_maker.write(folder / "a.folded", before)
    folded_maker.write(folder / "b.folded", after)
    page = page_of("--diff", folder / "a.folded", folder / "b.folded", folder / "diff.html")
    with Browser(1400, 900) as browser:
        for scheme in ("dark", "light"):
            browser.colour_scheme(scheme)
            browser.open(page)
            look(browser, f"flame_diff_{scheme}", 20)
        now = state(browser)
        equal(now["visible"][0]["total"], sum(before.values()), "samples before")
        legend = text_of(browser, "#legend")
        check("more" in legend and "less" in legend and "points" in legend, f"legend: {legend}")
        # The grown stack is red all the way, as far as it is drawn.
        frame = max((each for each in now["visible"] if each["name"] == name_of(grown[-1])), key=lambda x: x["width"])
        red, green, blue = map(int, re.findall(r"\d+", frame["colour"]))
        check(red > green + 60 and red > blue + 60, f"grown frame is {frame['colour']}")
        browser.press("c")
        check("points" not in text_of(browser, "#legend .ends"), "c does not change to counts")
        browser.press("c")
        click_frame(browser, next(each for each in now["visible"] if each["depth"] == 2), now)
        browser.settle()
        details = text_of(browser, "#details")
        check("before" in details and "after" in details and "Change" in details, f"details: {details}")
        browser.press("r")
        check(len(state(browser)["visible"]) > 10, "reversed comparison is empty")
        equal(browser.errors(), [], "errors in the console")


if __name__ == "__main__":
    harness.main(thousand_stacks, all_kinds_of_frames, hostile_names_are_text, comparison, hundred_thousand_stacks)
