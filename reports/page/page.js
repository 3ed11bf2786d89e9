"use strict";
// Sorting by a click on a column's head, and hiding arms; without this script the page is complete.
(function () {
    const cell = (row, i) => (row.cells[i] ? row.cells[i].textContent.trim() : "");
    // "1,234.5 ms (CLAIM)" is 1234.5, "≥ 3.37 s" is 3.37; what holds no number comes last
    const number = (text) => {
        const m = text.replace(/(\d),(?=\d{3})/g, "$1").match(/^[≤≥~+\s]*(-?\d+(\.\d+)?)/);
        return m ? parseFloat(m[1]) : NaN;
    };
    function sort(table, i, up) {
        const body = table.tBodies[0];
        const rows = Array.from(body.rows);
        const numeric = rows.some((r) => !isNaN(number(cell(r, i))));
        rows.sort((a, b) => {
            const x = cell(a, i), y = cell(b, i);
            if (!numeric) return up ? x.localeCompare(y) : y.localeCompare(x);
            const p = number(x), q = number(y);
            if (isNaN(p) || isNaN(q)) return isNaN(p) - isNaN(q);
            return up ? p - q : q - p;
        });
        rows.forEach((r) => body.appendChild(r));
    }
    document.querySelectorAll("table").forEach((table) => {
        if (!table.tHead || !table.tBodies.length) return;
        Array.from(table.tHead.rows[0].cells).forEach((th, i) => {
            const button = document.createElement("button");
            button.type = "button";
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

    const arms = document.getElementById("arms");
    const boxes = arms ? Array.from(arms.querySelectorAll("input")) : [];
    if (boxes.length < 2) return;
    arms.hidden = false;
    const hide = (node, off) => node.classList.toggle("off", off);
    // An arm is a column of a head-to-head, a row of a table with a column "arm", a curve of a picture, or a row that
    // begins with "ARM: ".
    function show() {
        const off = new Set(boxes.filter((b) => !b.checked).map((b) => b.value));
        const of = (text) => boxes.find((b) => text.startsWith(b.value + ": "));
        document.querySelectorAll("table").forEach((table) => {
            const head = Array.from(table.tHead.rows[0].cells).map((th) => th.textContent.trim());
            const column = head.indexOf("arm");
            head.forEach((name, i) => {
                if (boxes.some((b) => b.value === name))
                    Array.from(table.rows).forEach((r) => r.cells[i] && hide(r.cells[i], off.has(name)));
            });
            Array.from(table.tBodies[0].rows).forEach((r) => {
                const first = of(cell(r, 0));
                hide(r, (column >= 0 && off.has(cell(r, column))) || (first !== undefined && off.has(first.value)));
            });
        });
        document.querySelectorAll("figure svg g > title").forEach((t) => {
            const name = t.textContent.trim();
            if (boxes.some((b) => b.value === name)) hide(t.parentNode, off.has(name));
        });
    }
    boxes.forEach((b) => b.addEventListener("change", show));
    show();
})();
