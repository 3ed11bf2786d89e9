"""The page of `ratecast report` in a browser: opened from disk in headless Chromium, wide and narrow, light, dark and
printed; sorted, with arms taken away; and made from a scenario whose texts try to break out. RATECAST: the program, REPO:
the source folder (test_page.sh sets neither, it looks for what this needs)."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import traceback

from selenium import webdriver
from selenium.common.exceptions import NoAlertPresentException, UnexpectedAlertPresentException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.keys import Keys

RATECAST = os.path.abspath(os.environ["RATECAST"])
REPO = pathlib.Path(os.environ["REPO"]).resolve()
HELPERS = (REPO / "tests/web/page_probe.js").read_text(encoding="utf-8")
WIDE, NARROW, PAPER = 1280, 390, 718  # px; A4 less 1 cm on each side is 718
passed = failed = 0


def check(name, ok, detail=""):
    global passed, failed
    if ok:
        passed += 1
        print("ok", name)
    else:
        failed += 1
        print("FAIL", name + (": " + str(detail)[:1500] if detail != "" else ""))


class Browser:
    """Chromium with what it logs and fetches, at a width and with a scheme."""

    def __init__(self, folder):
        o = Options()
        o.binary_location = shutil.which("chromium")
        for flag in ("headless=new", "no-sandbox", "disable-gpu", "disable-dev-shm-usage", "no-first-run",
                     "disable-background-networking", "user-data-dir=%s/profile" % folder):
            o.add_argument("--" + flag)
        o.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=o)
        self.driver.set_page_load_timeout(60)

    def cdp(self, command, **parameters):
        return self.driver.execute_cdp_cmd(command, parameters)

    def js(self, expression, *arguments):
        return self.driver.execute_script(HELPERS + "return " + expression, *arguments)

    def set_media(self, scheme, media=""):
        self.cdp("Emulation.setEmulatedMedia", media=media,
                 features=[{"name": "prefers-color-scheme", "value": scheme}, {"name": "prefers-reduced-motion", "value": "reduce"}])

    def open(self, page, width=WIDE, scheme="light", media=""):
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.set_media(scheme, media)
        self.console(), self.requests()
        self.driver.get(page.as_uri())

    def console(self):
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self):
        events = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
        # what the browser's own window loads, at times late; no page on disk may load such a thing
        return [url for url in urls if not url.startswith("chrome://")]


def make_page(folder, name, *arguments):
    out = pathlib.Path(folder) / name
    made = subprocess.run([RATECAST, "report", *arguments, "-o", str(out)], cwd=str(REPO), stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, check=False)
    check("%s: made" % name, made.returncode == 0, made.stdout)
    return out / "index.html"


# ---- what every page has to be ----


def check_quiet(b, name, page):
    said = b.console()
    check(name + ": silent console", not said, said)
    asked = [url for url in b.requests() if url != page.as_uri()]
    check(name + ": fetches nothing", not asked, asked)


def check_content(b, name, title, pictures):
    check(name + ": title", b.driver.title == title, b.driver.title)
    check(name + ": heading", b.js("text('h1')") == [title], b.js("text('h1')"))
    banner = (b.js("text('blockquote')") or [""])[0]
    check(name + ": banner first", " PROJECTION]" in banner and "no part of these sessions ran on silicon" in banner, banner)
    check(name + ": banner without scrolling", b.js("box('blockquote').bottom") < 900)
    drawn = b.js("pictures()")
    check(name + ": %d pictures" % pictures, len(drawn) == pictures, drawn)
    for i, p in enumerate(drawn):
        check("%s: picture %d has a viewBox" % (name, i), p["viewBox"] and len(p["viewBox"].split()) == 4, p)
        check("%s: picture %d is drawn" % (name, i), p["drawn"] > 20 and p["width"] > 300 and p["height"] > 100, p)
        check("%s: picture %d has words" % (name, i), p["words"] > 5, p)
        check("%s: picture %d has a label" % (name, i), p["role"] == "img" and len(p["label"] or "") > 10, p)


def check_structure(b, name):
    s = b.js("structure()")
    check(name + ": language", s["lang"] == "en")
    check(name + ": no id twice", not s["twice"], s["twice"])
    check(name + ": references lead somewhere", not s["dangling"], s["dangling"])
    check(name + ": contents list every section", s["sections"] > 4 and s["contents"] == s["sections"], s)
    check(name + ": one h1, no level left out", s["levels"][0] == 1 and s["levels"].count(1) == 1 and all(
        y <= x + 1 for x, y in zip(s["levels"], s["levels"][1:])), s["levels"])
    check(name + ": boxes that scroll can be reached and have names of their own", s["boxes"] > 4 and not s["unreachable"]
          and len(set(s["labels"])) == len(s["labels"]), s)
    check(name + ": heads of columns say so", s["heads"] > 10 and s["scopes"] == s["heads"], s)
    check(name + ": toggles have labels", s["inputs"] == s["labelled"], s)


def check_layout(b, name, width):
    check(name + ": no sideways scroll", b.js("document.scrollingElement.scrollWidth") <= width,
          b.js("document.scrollingElement.scrollWidth"))
    spill = b.js("spilling(arguments[0])", width)
    check(name + ": nothing beyond the edge but in boxes that scroll", not spill, spill)
    if width == NARROW:
        wide = b.js("scrolling()")
        check(name + ": wide tables scroll", any(x["table"] for x in wide) and all(x["inside"] for x in wide), wide)
        check(name + ": text of pictures at least 8 px", b.js("smallestText()") >= 8, b.js("smallestText()"))


def wait_for_scroll(b):
    """Scroll events come with the next frame."""
    b.driver.execute_async_script("const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(done));")


def check_edges(b, name, width):
    """An edge fades exactly where there is more; a column that stays shades what is below it."""
    for to in (0, 40, 1000000):
        b.js("scrollAll(arguments[0])", to)
        wait_for_scroll(b)
        found = b.js("edges()")
        off = [x for x in found if x["fades_right"] != (x["right"] > 1) or
               (x["shade"] != "none" if x["table"] else x["fades_left"]) != (x["left"] > 1)]
        check("%s: edges fade where there is more, at %d" % (name, to), not off, off)
        if width == NARROW:
            more = [x for x in found if (x["right"] if to == 0 else x["left"]) > 1]
            check("%s: tables and pictures among them, at %d" % (name, to), {x["table"] for x in more} == {True, False}, found)
    b.js("scrollAll(0)")
    wait_for_scroll(b)
    check(name + ": rows are whole pixels high", b.js("brokenRows()") == 0, b.js("brokenRows()"))
    if width == NARROW:
        cut = [x for x in b.js("wholeNumbers()") if x["first"] > x["box"] / 2]
        check(name + ": the column that stays leaves room", not cut, cut)


def check_whole_numbers(b, name, page):
    """Of the first table on a phone a number stands whole in each row, beside the words of the row."""
    b.open(page, NARROW)
    first = (b.js("wholeNumbers()") or [None])[0]
    check(name + ": a whole number in each row", first and first["rows"] > 10 and first["whole"] == first["rows"], first)


def check_all_arms(b, name, page, pictures):
    """`pictures`: the kinds that cannot follow the toggles say so, but only while an arm is off."""
    b.open(page)
    check(name + ": no note while all arms are shown", not any(x["note"] for x in b.js("allArmsNotes()")), b.js("allArmsNotes()"))
    box = b.driver.find_element("css selector", "#arms input")
    box.click()
    found = {x["picture"].split()[-1]: x["note"] for x in b.js("allArmsNotes()")}
    check(name + ": pictures that show all arms say so", set(found) == set(pictures) and all(
        ("all arms" in note) == pictures[p] for p, note in found.items()), found)
    box.click()
    check(name + ": no note when it is back", not any(x["note"] for x in b.js("allArmsNotes()")), b.js("allArmsNotes()"))


def check_colours(b, name, scheme):
    worst = b.js("contrasts()")
    for kind in ("p", "li", "a", "td", "th", "figcaption", "blockquote p", "pre code", "h2", "#arms label", "#arms span"):
        check("%s: contrast of %s" % (name, kind), kind in worst and worst[kind] >= 4.5, worst.get(kind, "not there"))
    dark = b.js("luminance(getComputedStyle(document.body).backgroundColor)") < 0.1
    check("%s: %s paper" % (name, scheme), dark == (scheme == "dark"))
    filters = b.js("all('figure svg').map((x) => getComputedStyle(x).filter)")
    check(name + ": pictures follow the scheme", all((f != "none") == dark for f in filters), filters)


def check_print(b, name, page):
    b.open(page)
    if b.js("all('#arms input').length"):
        b.driver.find_element("css selector", "#arms input").click()
    b.cdp("Emulation.setDeviceMetricsOverride", width=PAPER, height=1000, deviceScaleFactor=1, mobile=False)
    b.set_media("light", "print")
    hidden = b.js("hidden()")
    check(name + ": hides contents and toggles", sorted(hidden["roots"]) == sorted(hidden["expected"]), hidden["roots"])
    check_layout(b, name, PAPER)
    pdf = b.cdp("Page.printToPDF")["data"]
    check(name + ": is a PDF", pdf.startswith("JVBER") and len(pdf) > 20000, len(pdf))
    check_quiet(b, name, page)


def check_without_script(b, name, page):
    b.cdp("Emulation.setScriptExecutionDisabled", value=True)
    b.open(page)
    hidden = b.js("hidden()")
    check(name + ": the toggles hide, and only they", hidden["roots"] == ["div#arms"], hidden["roots"])
    check(name + ": no buttons", b.js("all('button').length") == 0)
    check_quiet(b, name, page)
    b.cdp("Emulation.setScriptExecutionDisabled", value=False)


def check_everywhere(b, name, page, title, pictures):
    for width in (WIDE, NARROW):
        for scheme in ("light", "dark"):
            at = "%s, %d px, %s" % (name, width, scheme)
            b.open(page, width, scheme)
            check_content(b, at, title, pictures)
            check_structure(b, at)
            check_layout(b, at, width)
            check_edges(b, at, width)
            check_colours(b, at, scheme)
            check_quiet(b, at, page)
    check_print(b, name + ", printed", page)
    check_without_script(b, name + ", without script", page)


# ---- sorting ----

# Name, value as reports write it; the order of the values follows from the numbers and units alone.
VALUES = [("a", "1,234.5 ms (CLAIM)"), ("b", "≥ 3.37 s"), ("c", "–"), ("d", "1,089.66 s (ASSUMED)"), ("e", "≤ 12 s †"),
          ("f", "-4 s"), ("g", "not known"), ("h", "2 min"), ("i", "999 s")]
UP, DOWN = "fabehidcg", "dihebafcg"  # -4, 1.2345, 3.37, 12, 120, 999, 1089.66; what holds no number last, as it stood
HASHES = [("p", "9f"), ("q", "10e"), ("r", "436f8"), ("s", "83c0e"), ("z", "12")]  # names: by letters
SIZES = [("t", "7 MiB less"), ("u", "1,397.2 MiB more"), ("v", ""), ("w", "2 GiB more"), ("x", "7.5 MiB less"), ("y", "0.5 KiB more")]


def table(rows):
    return "| name | value |\n|---|---:|\n" + "".join("| %s | VALUE-%s |\n" % (n, n) for n, _ in rows) + "\n"


def page_of_tables(folder):
    """A template may hold no number of its own: they are put into the page."""
    rows = (VALUES, HASHES, SIZES)
    template = pathlib.Path(folder) / "tables.md"
    template.write_text("# {{title}}\n\n{{banner}}\n\n## T\n\n" + "".join(map(table, rows)), encoding="utf-8")
    page = make_page(folder, "tables", "scenarios/head_to_head_4k.json", "--template", str(template))
    html = page.read_text(encoding="utf-8")
    for name, value in sum(rows, []):
        html = html.replace("VALUE-%s<" % name, value + "<")
    page.write_text(html, encoding="utf-8")
    return page


def order_of(b, table_at):
    return "".join(row[0]["text"] for row in b.js("tables()")[table_at]["rows"])


def head(b, table_at, column):
    button = b.driver.find_elements("css selector", "table")[table_at].find_elements("css selector", "th button")[column]
    b.js("arguments[0].scrollIntoView({block: 'center'})", button)
    return button


def check_order(b, name, table_at, column, want, by_key=False):
    button = head(b, table_at, column)
    if by_key:
        button.send_keys(Keys.ENTER)
    else:
        button.click()
    check(name, order_of(b, table_at) == want, order_of(b, table_at))


def sorts(b, table_at):
    return b.js("all('table')[arguments[0]] && Array.from(all('table')[arguments[0]].querySelectorAll('th'))"
                ".map((th) => th.getAttribute('aria-sort'))", table_at)


def check_sorting(b, folder):
    page = page_of_tables(folder)
    for width in (WIDE, NARROW):
        b.open(page, width)
        at = "sorting, %d px: " % width
        check(at + "as written at first", order_of(b, 0) == "abcdefghi" and sorts(b, 0) == [None, None], order_of(b, 0))
        check_order(b, at + "ascending", 0, 1, UP)
        check(at + "aria-sort ascending", sorts(b, 0) == [None, "ascending"], sorts(b, 0))
        check_order(b, at + "descending", 0, 1, DOWN)
        check(at + "aria-sort descending", sorts(b, 0) == [None, "descending"], sorts(b, 0))
        check_order(b, at + "Enter", 0, 0, "abcdefghi", by_key=True)
        check(at + "aria-sort moves", sorts(b, 0) == ["ascending", None], sorts(b, 0))
        check_order(b, at + "names downwards", 0, 0, "ihgfedcba")
        check_order(b, at + "hashes are no numbers", 1, 1, "qzrsp")
        check_order(b, at + "sizes, more and less", 2, 1, "xtyuwv")
        check_order(b, at + "sizes downwards", 2, 1, "wuytxv")
        check(at + "other tables stay", order_of(b, 1) == "qzrsp" and sorts(b, 1) == [None, "ascending"])
        check_quiet(b, at + "afterwards", page)


def check_sorting_real(b, name, page, column):
    """A column of a real head-to-head: plain numbers with thousands separators."""
    b.open(page)
    at = b.js("tables()")[0]["head"].index(column)
    before = sorted(r[0]["text"] for r in b.js("tables()")[0]["rows"])
    for direction in (1, -1):
        head(b, 0, at).click()
        rows = b.js("tables()")[0]["rows"]
        values = [float(r[at]["text"].replace(",", "").replace(" †", "")) for r in rows]
        check("%s: %s sorted %+d" % (name, column, direction), values == sorted(values)[::direction] and len(values) > 5, values)
        check("%s: no row lost" % name, sorted(r[0]["text"] for r in rows) == before)


# ---- arms ----


def stays(arm, others, table_head, row, i):
    """Whether cell i of a row is to be seen when `arm` is off; from what the columns and rows are, not from the page."""
    name = table_head[i]
    if name == arm or name in [x % y for y in others for x in (arm + " vs %s", "%s vs " + arm)]:
        return False
    if "arm" in table_head and row[table_head.index("arm")]["text"] == arm:
        return False
    return not row[0]["text"].startswith(arm + ": ")


def wrong_cells(tables, arm, others):
    return [(t["head"][i], row[0]["text"]) for t in tables for row in t["rows"] for i, cell in enumerate(row)
            if cell["shown"] != stays(arm, others, t["head"], row, i)]


def check_arms(b, name, page, arms, curves):
    """`curves`: how many a picture has of each arm."""
    b.open(page)
    all_cells = sum(len(r) for t in b.js("tables()") for r in t["rows"])
    drawn = b.js("curves()")
    boxes = b.driver.find_elements("css selector", "#arms input")
    check(name + ": a toggle for each arm", [x.get_attribute("value") for x in boxes] == arms)
    for box, arm in zip(boxes, arms):
        others = [x for x in arms if x != arm]
        box.click()
        tables = b.js("tables()")
        wrong = wrong_cells(tables, arm, others)
        check("%s: %s off in tables" % (name, arm), not wrong, wrong)
        gone = sum(not cell["shown"] for t in tables for row in t["rows"] for cell in row)
        check("%s: %s off takes some, not all" % (name, arm), 10 < gone < all_cells * 0.9, (gone, all_cells))
        heads_off = [h for t in tables for h, shown in zip(t["head"], t["head_shown"]) if not shown]
        check("%s: %s off takes its heads only" % (name, arm), all(arm in h.split(" vs ") for h in heads_off), heads_off)
        left = b.js("curves()")
        check("%s: %s off takes its curves" % (name, arm), len(drawn) - len(left) == curves, (len(drawn), len(left)))
        box.send_keys(Keys.SPACE)
        check("%s: %s on again" % (name, arm), all(c["shown"] for t in b.js("tables()") for r in t["rows"] for c in r)
              and b.js("curves()") == drawn)
    check_quiet(b, name + ": toggled", page)


def check_curves_of(b, page):
    """The blue curves are those of the first arm, in each panel (a letter ends the id) and in the key."""
    b.open(page)
    blue = "rgb(  0, 114, 178)"
    before = b.js("curves()")
    panels = {c["id"][-1] for c in before}
    check("curves: of the first arm in each panel", len(panels) > 2 and {c["id"][-1] for c in before if c["colour"] == blue} == panels, before)
    b.driver.find_element("css selector", "#arms input").click()
    left = b.js("curves()")
    check("curves: those of the first arm go, no others", left == [c for c in before if c["colour"] != blue], left)


# ---- contents ----


def check_contents(b, page):
    b.open(page, NARROW)
    links = b.driver.find_elements("css selector", "nav a")
    for link in links[:3] + links[-1:]:
        title = link.text
        link.click()
        at = b.js("box(location.hash)")
        bar = b.js("box('#arms')")
        check("contents: %s is in sight below the toggles" % title, bar["bottom"] - 2 <= at["top"] < 900 or at["bottom"] < 900
              and at["top"] >= bar["bottom"] - 2, (at, bar))
        b.js("scrollTo(0, 0)")


# ---- texts that try to break out ----

HOSTILE = ("<script>alert(1)</script> [x](javascript:alert(1)) ![y](https://example.org/y.png) <img src=x onerror=alert(2)> "
           "<javascript:alert(5)> a|b `c` \"d\" 'e' & &lt; \ue000\ue001f\ue002 \ue0000\ue001g\ue002")
HOSTILE_ARM = "<b>a|b</b> [x](javascript:alert(3)) `c` \"d\"& \ue0000\ue001\ue002"
CLOSING_ARM = "</script><script>alert(4)</script>"


def hostile_scenario(folder):
    s = json.loads((REPO / "scenarios/head_to_head_4k.json").read_text(encoding="utf-8"))
    s["title"] = s["note"] = HOSTILE
    s["arms"][0]["name"], s["arms"][0]["title"] = HOSTILE_ARM, HOSTILE
    s["arms"][1]["name"] = s["baseline"] = CLOSING_ARM
    for a in s["assumptions"]:
        a["reason"] = a["source"] = HOSTILE
    s["unmodeled"] = [HOSTILE, "# <h1>x</h1>", "## y", "```"]
    path = pathlib.Path(folder) / "hostile.json"
    path.write_text(json.dumps(s), encoding="utf-8")
    return path


def no_alert(b):
    try:
        b.driver.switch_to.alert.dismiss()
    except NoAlertPresentException:
        return True
    return False


def check_hostile(b, folder):
    page = make_page(folder, "hostile", str(hostile_scenario(folder)))
    for width in (WIDE, NARROW):
        name = "hostile, %d px" % width
        try:
            b.open(page, width)
            check(name + ": no alert", no_alert(b))
            check_quiet(b, name, page)
        except UnexpectedAlertPresentException as e:
            check(name + ": no alert", False, e)
            return
        check(name + ": its title is text", b.driver.title.startswith("<script>alert(1)</script> [x](javascript:alert(1))"))
        check(name + ": one heading", len(b.js("text('h1')")) == 1 and "<script>alert(1)</script>" in b.js("text('h1')")[0])
        check(name + ": one script", b.js("all('script').length") == 1)
        strange = b.js("all('img, b, iframe, object, embed, base, [onerror], [onclick], [onload], form').map((x) => x.outerHTML)")
        check(name + ": no element of it", not strange, strange)
        links = b.js("all('a').map((x) => x.getAttribute('href')).filter((x) => !x.startsWith('#'))")
        check(name + ": no link of it", not links, links)
        check(name + ": three pictures", b.js("all('figure').length") == 3, b.js("all('figure').length"))
        check(name + ": no mark left", not b.js("/\\ue000/.test(document.body.outerHTML.replace(/<svg.*?<.svg>/gs, ''))"))
        check_structure(b, name)
        check_layout(b, name, width)
    box = b.driver.find_elements("css selector", "#arms input")[1]
    box.click()
    wrong = wrong_cells(b.js("tables()"), CLOSING_ARM, [box.get_attribute("value")])
    check("hostile: its arm can be hidden", not [w for w in wrong if " vs " not in w[0]], wrong)


def check_policy(b, page):
    """The policy holds, and this test would see what breaks it."""
    b.open(page)
    b.js("(() => { const s = document.createElement('script'); s.textContent = 'window.broken = 1';"
         "document.body.append(s); new Image().src = 'https://example.org/x.png'; document.body.setAttribute('onclick', 'window.broken = 1');"
         "document.body.click(); return 0; })()")
    check("policy: no foreign script runs", b.js("window.broken === undefined"))
    b.js("new Promise((done) => setTimeout(done, 200))")
    said = b.console()
    for directive in ("script-src", "img-src"):
        check("policy: a breach of %s is seen" % directive, any("Content Security Policy" in x and directive in x for x in said), said)
    b.js("setTimeout(() => { throw new Error('seen'); }, 0)")
    b.js("new Promise((done) => setTimeout(done, 200))")
    check("policy: an error of a script is seen", any("seen" in x for x in b.console()))


# ---- all ----


def title_of(scenario):
    return json.loads((REPO / "scenarios" / (scenario + ".json")).read_text(encoding="utf-8"))["title"]


def check_all(b, folder):
    audit = make_page(folder, "audit", "scenarios/head_to_head_4k.json", "--claim", "scenarios/claims/head_to_head_4k.json")
    sweep = make_page(folder, "sweep", "scenarios/cache_ab.json")
    fleet = make_page(folder, "fleet", "scenarios/fleet_5x200.json")
    check_everywhere(b, "audit", audit, title_of("head_to_head_4k"), 3)
    check_everywhere(b, "sweep", sweep, title_of("cache_ab"), 1)
    check_everywhere(b, "fleet", fleet, title_of("fleet_5x200"), 2)
    check_sorting(b, folder)
    check_sorting_real(b, "audit", audit, "fak-native")
    check_sorting_real(b, "sweep", sweep, "wall-clock, s")
    check_arms(b, "audit", audit, ["fak-native", "llama.cpp"], 0)
    check_arms(b, "sweep", sweep, ["cache-on", "cache-off"], 5)
    check_arms(b, "fleet", fleet, ["C", "B", "A"], 0)
    check_curves_of(b, sweep)
    check_whole_numbers(b, "audit", audit)
    check_whole_numbers(b, "fleet", fleet)
    check_all_arms(b, "audit", audit, {"wall": True, "timeline": True, "waterfall": True})
    check_all_arms(b, "sweep", sweep, {"sweep": False})
    check_contents(b, audit)
    check_policy(b, audit)
    check_hostile(b, folder)


def main():
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) if sys.version_info >= (3, 10) \
            else tempfile.TemporaryDirectory() as folder:
        b = Browser(folder)
        try:
            check_all(b, folder)
        except Exception:  # whatever it was, the line of totals has to tell
            check("the test came to its end", False, "\n" + traceback.format_exc())
        finally:
            b.driver.quit()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
