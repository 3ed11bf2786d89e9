#!/bin/sh
# The page of `ratecast report` in a browser (test_page.py): RATECAST: the program, REPO: the source folder. Exit code 77
# (skipped) without a browser, its driver, Selenium or gnuplot.
set -u
: "${RATECAST:?path of the program}" "${REPO:?path of the repository}"
# The system's python3 first: it is the one that a package of selenium belongs to.
python=
for p in /usr/bin/python3 python3; do
    "$p" -W ignore -c 'import selenium' 2>/dev/null && { python=$p; break; }
done
missing=
[ -n "$python" ] || missing="python3-selenium"
for p in chromium:chromium chromedriver:chromium-driver gnuplot:gnuplot-nox; do
    command -v "${p%%:*}" >/dev/null || missing="$missing ${p#*:}"
done
if [ -n "$missing" ]; then
    echo "SKIPPED: no page was opened in a browser, not here: $missing"
    exit 77
fi
exec "$python" -W ignore -B "$REPO/tests/web/test_page.py"
