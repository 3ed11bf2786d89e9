"use strict";
// Sorting by a click on a column's head, hints where a box scrolls, and hiding arms; without this script the page is
// complete.
(function () {
    const cell = (row, i) => (row.cells[i] ? row.cells[i].textContent.trim() : "");
    // Within a column of times or sizes units may differ: all in s, all in MiB.
    const units = { us: 1e-6, "µs": 1e-6, ms: 1e-3, min: 60, h: 3600, KiB: 1 / 1024, GiB: 1024, TiB: 1024 * 1024 };
    // "1,234.5 ms (CLAIM)" is 1.2345, "≥ 3.37 s" is 3.37, "7 MiB less" is -7; a name that begins with digits is none.
    function number(text) {
        const plain = text.replace(/(\d),(?=\d{3})/g, "$1").replace("−", "-");
        const m = plain.match(/^[≤≥~<>+\s]*(-?\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?:x?$|x?[\s%(†]+([A-Za-zµ]*)(?!\/))/);
        if (!m) return NaN;
        return parseFloat(m[1]) * (units[m[2]] || 1) * (/ less$/.test(plain) ? -1 : 1);
    }
    // A column of numbers: most of its cells hold one. What holds none comes last.
    function isNumeric(rows, i) {
        const texts = rows.map((r) => cell(r, i)).filter((t) => t !== "" && t !== "–");
        return texts.filter((t) => !isNaN(number(t))).length * 2 > texts.length;
    }
    function sort(table, i, up) {
        const body = table.tBodies[0];
        const rows = Array.from(body.rows);
        const numeric = isNumeric(rows, i);
        rows.sort((a, b) => {
            const x = cell(a, i), y = cell(b, i);
            if (!numeric) return (up ? 1 : -1) * x.localeCompare(y);
            const p = number(x), q = number(y);
            if (isNaN(p) || isNaN(q)) return isNaN(p) - isNaN(q);
            return up ? p - q : q - p;
        });
        rows.forEach((r) => body.appendChild(r));
    }
    document.querySelectorAll("table").forEach((table) => {
        if (!table.tHead || !table.tBodies.length) return;
        Array.from(table.tHead.rows[0].cells).forEach((th, i) => {
            if (th.textContent.trim() === "") return;
            const button = document.createElement("button");
            button.type = "button";
            button.title = "sort by this column";
            while (th.firstChild) button.appendChild(th.firstChild);
            th.appendChild(button);
            button.addEventListener("click", () => {
                const up = th.getAttribute("aria-sort") !== "ascending";
                table.querySelectorAll("th").forEach((h) => h.removeAttribute("aria-sort"));
                th.setAttribute("aria-sort", up ? "ascending" : "descending");
                sort(table, i, up);
            });
        });
    });

    // To which side of a box there is more: the style shows it.
    const boxesThatScroll = Array.from(document.querySelectorAll(".scroll"));
    function hint(box) {
        box.classList.toggle("more-left", box.scrollLeft > 1);
        box.classList.toggle("more-right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    }
    const hints = () => boxesThatScroll.forEach(hint);
    boxesThatScroll.forEach((box) => box.addEventListener("scroll", () => hint(box), { passive: true }));
    window.addEventListener("resize", hints);
    window.addEventListener("load", hints);
    hints();

    const arms = document.getElementById("arms");
    const boxes = arms ? Array.from(arms.querySelectorAll("input")) : [];
    if (boxes.length < 2) return;
    const names = boxes.map((b) => b.value);
    arms.hidden = false;
    const hide = (node, off) => node.classList.toggle("off", off);
    // The arms that a column's head speaks of: ARM, or ARM vs ARM.
    const spoken = (head) => names.filter((a) => head === a || names.some((b) => head === a + " vs " + b || head === b + " vs " + a));
    // A curve of a picture belongs to the arm that its own line of the key names. A key stands in one panel; in the
    // others a curve has the colour of its arm.
    function curves(svg) {
        const groups = Array.from(svg.querySelectorAll("g[id*='_plot_']")).map((g) => {
            const text = g.querySelector("text"), path = g.querySelector("path[stroke]");
            return { g, text: text ? text.textContent.trim() : "", colour: path ? path.getAttribute("stroke") : "" };
        });
        const keyed = groups.filter((c) => names.includes(c.text) && c.colour);
        return groups.map((c) => ({
            g: c.g,
            of: keyed.filter((k) => (c.text ? c.text === k.text : c.colour === k.colour)).map((k) => k.text),
        }));
    }
    const drawn = Array.from(document.querySelectorAll("figure svg")).flatMap(curves).filter((c) => c.of.length);
    // Panels, bars and sums of arms cannot be taken away one by one: their caption says so while an arm is off.
    const whole = Array.from(document.querySelectorAll("figure.all-arms figcaption")).map((caption) => {
        const note = document.createElement("span");
        note.className = "shows-all";
        note.textContent = " This picture shows all arms, also those that are not ticked.";
        return { caption, note };
    });
    // An arm is also a column of a head-to-head, a row of a table with a column "arm", or a row that begins with "ARM: ".
    function show() {
        const off = new Set(boxes.filter((b) => !b.checked).map((b) => b.value));
        document.querySelectorAll("table").forEach((table) => {
            if (!table.tHead || !table.tBodies.length) return;
            const head = Array.from(table.tHead.rows[0].cells).map((th) => th.textContent.trim());
            const column = head.indexOf("arm");
            head.forEach((name, i) => {
                const of = spoken(name);
                if (of.length) Array.from(table.rows).forEach((r) => r.cells[i] && hide(r.cells[i], of.some((a) => off.has(a))));
            });
            Array.from(table.tBodies[0].rows).forEach((r) => {
                const first = names.find((a) => cell(r, 0).startsWith(a + ": "));
                hide(r, (column >= 0 && off.has(cell(r, column))) || (first !== undefined && off.has(first)));
            });
        });
        drawn.forEach((c) => hide(c.g, c.of.every((a) => off.has(a))));
        whole.forEach((w) => (off.size ? w.caption.append(w.note) : w.note.remove()));
        hints();
    }
    boxes.forEach((b) => b.addEventListener("change", show));
    show();
})();
