// What test_page.py asks a page: put before each expression that it evaluates there.
const all = (selector, root) => Array.from((root || document).querySelectorAll(selector));
const text = (selector) => all(selector).map((x) => x.textContent.trim());
const shown = (x) => x.getClientRects().length > 0 && getComputedStyle(x).visibility === "visible";
const box = (selector) => document.querySelector(selector).getBoundingClientRect().toJSON();
const named = (x) => x.localName + (x.id ? "#" + x.id : "") + (x.classList.length ? "." + x.classList[0] : "");

function pictures() {
    return all("figure svg").map((svg) => {
        const at = svg.getBoundingClientRect();
        const marks = all("path, rect, use, polygon, circle", svg).filter((x) => !x.closest("defs"));
        return {
            viewBox: svg.getAttribute("viewBox"), role: svg.getAttribute("role"), label: svg.getAttribute("aria-label"),
            width: at.width, height: at.height,
            drawn: marks.filter((x) => x.getBoundingClientRect().width + x.getBoundingClientRect().height > 0).length,
            words: all("text", svg).filter((x) => x.textContent.trim() && x.getBoundingClientRect().width > 0).length,
        };
    });
}

function structure() {
    const ids = all("[id]").map((x) => x.id);
    const refs = all("[href^='#'], [*|href^='#']").map((x) => x.getAttribute("href") || x.getAttribute("xlink:href"));
    const urls = all("svg *").flatMap((x) => Array.from(x.attributes))
        .flatMap((a) => Array.from(a.value.matchAll(/url\(['"]?(#[^)'"]*)/g)).map((m) => m[1]));
    const boxes = all(".scroll");
    return {
        lang: document.documentElement.lang,
        twice: ids.filter((id, i) => ids.indexOf(id) !== i),
        dangling: refs.concat(urls).filter((r) => !ids.includes(r.slice(1))),
        sections: all("h2").length,
        contents: all("nav a").filter((a, i) => document.querySelector(a.hash) === all("h2")[i]
            && a.textContent === all("h2")[i].textContent).length,
        levels: all("h1, h2, h3, h4, h5, h6").map((h) => Number(h.localName[1])),
        boxes: boxes.length,
        labels: boxes.map((x) => x.getAttribute("aria-label")),
        unreachable: boxes.filter((x) => x.tabIndex !== 0 || x.getAttribute("role") !== "region"
            || !x.getAttribute("aria-label") || x.closest("[role=img]")).map(named),
        heads: all("th").length,
        scopes: all("th[scope=col]").length,
        inputs: all("input").length,
        labelled: all("input").filter((x) => x.labels.length === 1 && x.labels[0].textContent.trim()).length,
    };
}

// What reaches beyond the page's edge and is not inside a box that scrolls, or is cut off in its own box.
function spilling(width) {
    return all("body *").filter((x) => shown(x) && !x.closest("svg")).filter((x) => {
        const inner = x.parentElement.closest(".scroll");
        const at = x.getBoundingClientRect();
        const beyond = (!inner || getComputedStyle(inner).overflowX === "visible") && (at.right > width + 1 || at.left < -1);
        const style = getComputedStyle(x);
        const cut = style.overflowX !== "visible" && !(x.matches(".scroll") && style.overflowX === "auto") && x.scrollWidth > x.clientWidth + 1;
        return beyond || cut;
    }).map((x) => named(x) + ": " + x.textContent.trim().slice(0, 40));
}

function scrolling() {
    return all(".scroll").filter((x) => x.scrollWidth > x.clientWidth + 1).map((x) => ({
        table: x.querySelector("table") !== null,
        inside: getComputedStyle(x).overflowX === "auto" && x.getBoundingClientRect().right <= document.documentElement.clientWidth,
    }));
}

const smallestText = () => Math.min(...all("figure svg").flatMap((svg) =>
    all("[font-size]", svg).map((x) => parseFloat(x.getAttribute("font-size")) * svg.getScreenCTM().a)));

function luminance(colour) {
    const part = colour.match(/[\d.]+/g).slice(0, 3).map((v) => v / 255)
        .map((v) => (v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4)));
    return 0.2126 * part[0] + 0.7152 * part[1] + 0.0722 * part[2];
}

function backgroundOf(x) {
    for (let e = x; e; e = e.parentElement) {
        const colour = getComputedStyle(e).backgroundColor;
        if (!/, 0\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
}

// The lowest ratio of each kind of text (WCAG 2).
function contrasts() {
    const lowest = {};
    for (const kind of ["p", "li", "a", "td", "th", "figcaption", "blockquote p", "pre code", "h2", "#arms label", "#arms span"]) {
        for (const x of all(kind).filter((e) => shown(e) && e.textContent.trim())) {
            const a = luminance(getComputedStyle(x).color), b = luminance(backgroundOf(x));
            const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
            lowest[kind] = Math.min(ratio, kind in lowest ? lowest[kind] : 21);
        }
    }
    return lowest;
}

// The outermost elements that hold text or a picture and are not to be seen, and those that may be so in print.
function hidden() {
    const off = all("body *").filter((x) => !x.closest("script, defs, svg title, svg desc") && !shown(x)
        && (x.closest("svg") ? x.localName === "g" && all("path, text", x).length > 0 : x.textContent.trim() !== "" || x.localName === "svg"));
    const groups = off.filter((x) => x.localName !== "g" || getComputedStyle(x).display === "none");
    return {
        roots: groups.filter((x) => !groups.includes(x.parentElement)).map(named),
        expected: all("nav, #arms").map(named),
    };
}

function tables() {
    return all("table").map((table) => ({
        head: Array.from(table.tHead.rows[0].cells).map((c) => c.textContent.trim()),
        head_shown: Array.from(table.tHead.rows[0].cells).map(shown),
        rows: Array.from(table.tBodies[0].rows).map((row) => Array.from(row.cells).map((c) => ({ text: c.textContent.trim(), shown: shown(c) }))),
    }));
}

// The curves that are to be seen: groups of gnuplot's that hold a coloured line.
function curves() {
    return all("figure svg g[id*='_plot_']").filter((g) => getComputedStyle(g).display !== "none" && g.querySelector("path[stroke]"))
        .map((g) => ({ id: g.id, colour: g.querySelector("path[stroke]").getAttribute("stroke") }));
}

// Of each box that scrolls: how far it goes on to either side, and which edges its style fades.
function edges() {
    return all(".scroll").map((x) => {
        const mask = getComputedStyle(x).maskImage;
        const width = (name) => parseFloat(getComputedStyle(x).getPropertyValue(name));
        return {
            left: x.scrollLeft, right: x.scrollWidth - x.clientWidth - x.scrollLeft, table: x.querySelector("table") !== null,
            fades_left: mask !== "none" && width("--left") > 0, fades_right: mask !== "none" && width("--right") > 0,
            shade: x.querySelector("table") ? getComputedStyle(x.querySelector("td"), "::after").backgroundImage : "none",
        };
    });
}
const scrollAll = (to) => all(".scroll").forEach((x) => { x.scrollLeft = to; });

// Of each table that scrolls: the cells of numbers that are whole between the column that stays and the edge.
function wholeNumbers() {
    return all(".scroll").filter((x) => x.querySelector("td[align=right]") && x.scrollWidth > x.clientWidth + 1).map((x) => {
        const edge = x.getBoundingClientRect().right;
        const rows = all("tbody tr", x).filter((r) => all("td[align=right]", r).length > 0);
        return {
            name: x.getAttribute("aria-label"), first: rows[0].cells[0].getBoundingClientRect().width, box: x.clientWidth,
            rows: rows.length,
            whole: rows.filter((r) => all("td[align=right]", r).some((c) => c.getBoundingClientRect().right <= edge)).length,
        };
    });
}
// A row of a part of a pixel is drawn with its line elsewhere in a column that stays than in the others.
const brokenRows = () => all("tr").filter(shown).filter((r) => Math.abs(r.getBoundingClientRect().height % 1) > 0.001).length;
const allArmsNotes = () => all("figure").map((f) => ({
    picture: f.querySelector(".scroll").getAttribute("aria-label"), note: all("figcaption .shows-all", f).filter(shown).map((x) => x.textContent).join(),
}));
