# A sweep: wall-clock, speedup, TTFT and memory of each arm over the value that is swept.
# usage: gnuplot -d -c sweep.gp DATA.tsv PICTURE, DATA.tsv as `ratecast project SWEEP --plot` makes it: a comment (what it
# is, the swept path, the memory budget in MiB or -, the baseline), then value, arm, wall_s, speedup, ttft_cold_p50_ms,
# ttft_warm_p50_ms, peak_mib, extrapolated; that line names them.
data = ARG1
picture = ARG2
here = ARG0
while (strlen(here) > 0 && here[strlen(here):] ne "/") {
    here = strlen(here) > 1 ? here[1:strlen(here)-1] : ""
}
set encoding utf8
set datafile separator "\t"
set datafile commentschars ""

# ---- arms, values, and which columns have values ----

array arm[64]
arms_n = 0
array value_of[64]
array x_of[64]
values_n = 0
array most[8]
array filled_n[8]
do for [k=1:8] { most[k] = 0; filled_n[k] = 0 }
path = ""
name = ""
budget = ""
base = ""
find(name) = (found = 0, sum [i=1:arms_n] (arm[i] eq name ? (found = i) : 0), found)
spot(value) = (found = 0, sum [j=1:values_n] (value_of[j] eq value ? (found = j) : 0), found)
see(value, x, name) = (find(name) > 0 || arms_n == 64 ? 0 : (arms_n = arms_n + 1, arm[arms_n] = name, 0), \
    spot(value) > 0 || values_n == 64 ? 0 : (values_n = values_n + 1, value_of[values_n] = value, x_of[values_n] = x, 0), 1)
stats data skip 2 using (see(strcol(1), valid(1) ? $1 : 0, strcol(2))) nooutput
note(k, text, v) = text eq "" ? 1 : (filled_n[k] = filled_n[k] + 1, most[k] = v > most[k] ? v : most[k], 1)
do for [k=3:8] { stats data skip 2 using (note(k, strcol(k), column(k))) nooutput }
stats data every ::0::0 using (name = strcol(1), path = strcol(2), budget = strcol(3), base = strcol(4), 1) nooutput

# ---- the x axis: numbers stand where they are, anything else at equal distances ----

is_number(s) = strlen(s) > 0 && strstrt("0123456789.-", s[1:1]) > 0 && \
    (sum [j=1:strlen(s)] strstrt("0123456789.+-eE", s[j:j]) == 0) == 0
numbers = 1
sorted = 1
do for [j=1:values_n] { if (!is_number(value_of[j])) { numbers = 0 } }
do for [j=1:values_n] { if (!numbers) { x_of[j] = j } }
first = x_of[1]
last = x_of[1]
do for [j=1:values_n] {
    if (j > 1) { if (x_of[j] < x_of[j-1]) { sorted = 0 } }
    first = x_of[j] < first ? x_of[j] : first
    last = x_of[j] > last ? x_of[j] : last
}
margin = last > first ? 0.05 * (last - first) : abs(last) > 0 ? 0.5 * abs(last) : 1.0
place(value) = x_of[spot(value)]
# lines join values in their order
order = sorted ? "" : "smooth unique"
unit_of(path) = path[strlen(path)-1:] eq ".K" ? ", agents" : path[strlen(path)-1:] eq ".H" ? ", turns" : \
    path[strlen(path)-1:] eq ".P" || path[strlen(path)-3:] eq "_tok" ? ", tokens" : \
    path[strlen(path)-1:] eq "_s" ? ", s" : path[strlen(path)-5:] eq "_bytes" ? ", bytes" : ""

# ---- sizes: the key takes as many columns as names leave room for ----

one(s, n) = strlen(s) <= n ? s : s[1:n-1]."…"
entry_n = 60
longest = budget eq "-" ? 0 : 26
do for [i=1:arms_n] { longest = strlen(arm[i]) > longest ? strlen(arm[i]) : longest }
longest = longest < entry_n ? longest : entry_n
entries_n = arms_n + (budget eq "-" ? 0 : 1)
columns_n = int(1120 / (10.0 * longest + 90))
columns_n = columns_n < 1 ? 1 : columns_n > entries_n ? entries_n : columns_n
key_rows = int(ceil(1.0 * entries_n / columns_n))
head_px = 96.0
panel_px = 290.0
gap_px = 134.0
key_px = 24.0 * key_rows
foot_px = 46.0
picture_px_y = int(head_px + 2 * panel_px + gap_px + 86 + key_px + foot_px)
load here."common.gp"
# an arm may be named NaN
set datafile missing
array left_px[2]
left_px[1] = 118.0
left_px[2] = 720.0
width_px = 440.0
y_px(px) = 1 - 1.0 * px / picture_px_y

# ---- a label where there is room, the outermost first ----

set xrange [first - margin:last + margin]
per_px = (last - first + 2 * margin) / width_px
array labelled[64]
do for [j=1:64] { labelled[j] = 0 }
room(i, j) = (4.8 * (strlen(value_of[i]) + strlen(value_of[j])) + 12) * per_px
clear(j) = (sum [i=1:values_n] (labelled[i] && abs(x_of[i] - x_of[j]) < room(i, j))) == 0
do for [j=1:values_n] { if (x_of[j] == first || x_of[j] == last) { labelled[j] = clear(j) } }
do for [j=1:values_n] { if (!labelled[j]) { labelled[j] = clear(j) } }
set xtics (value_of[1] x_of[1])
do for [j=1:values_n] { if (labelled[j]) { set xtics add (value_of[j] x_of[j]) } }
do for [j=1:values_n] { if (!labelled[j]) { set xtics add ("" x_of[j]) } }

# ---- the picture ----

# rows of other arms are left out, not NaN: that would break a line
y(k) = strcol(k) ne "" ? column(k) : NaN
limit = budget eq "-" ? 0 : budget / 1024.0
warm = filled_n[6] > 0
cold = filled_n[5] > 0
array title_of[4]
array unit[4]
array source[4]
array scale[4]
array top[4]
title_of[1] = "wall-clock, s"
title_of[2] = "speedup over ".one(base, 28).", x"
title_of[3] = "TTFT p50, s".(warm && cold ? " (dashed: first turns)" : cold ? " (first turns)" : "")
title_of[4] = "peak memory, GiB"
unit[1] = "s"
unit[2] = "x"
unit[3] = "s"
unit[4] = "GiB"
source[1] = 3
source[2] = 4
source[3] = warm ? 6 : 5
source[4] = 7
scale[1] = 1.0
scale[2] = 1.0
scale[3] = 0.001
scale[4] = 1.0 / 1024
top[1] = most[3]
top[2] = most[4]
top[3] = 0.001 * (most[5] > most[6] ? most[5] : most[6])
top[4] = most[7] / 1024 > limit ? most[7] / 1024 : limit
# ten colours: the next ten arms have hollow points
mark(i) = int(pick(int((i - 1) / 10) % 2 == 0 ? filled : hollow, i))
marks = "pointsize 0.9 linewidth 1.6 pointtype mark(i) linecolor rgb colour(i)"
curve = "data skip 2 every arms_n::i-1 using (place(strcol(1))):(scale[p] * y(source[p])) ".order." with linespoints dashtype 1 ".marks." notitle"
dashes = "data skip 2 every arms_n::i-1 using (place(strcol(1))):(scale[p] * y(5)) ".order." with linespoints dashtype 2 ".marks." notitle"
entries = "for [i=1:arms_n] keyentry with linespoints dashtype 1 ".marks." title one(arm[i], entry_n)"
set multiplot
set xlabel path.unit_of(path) noenhanced
set key off
set label 1 one(name[3:*], 84) at screen 0.025, screen y_px(28) font "DejaVu Sans,16"
set label 2 "No part of it ran on silicon.".(filled_n[8] > 0 && most[8] > 0 ? \
    " Some times are priced outside the card's measured range: see the report." : "") \
    at screen 0.025, screen 18.0 / picture_px_y font "DejaVu Sans,12"
do for [p=1:4] { if (filled_n[source[p]] > 0) {
    column_i = p % 2 == 1 ? 1 : 2
    above = head_px + (p > 2 ? panel_px + gap_px : 0)
    set lmargin at screen left_px[column_i] / picture_px_x
    set rmargin at screen (left_px[column_i] + width_px) / picture_px_x
    set tmargin at screen y_px(above)
    set bmargin at screen y_px(above + panel_px)
    set title title_of[p]
    set ylabel unit[p]
    set yrange [0:(top[p] > 0 ? 1.08 * top[p] : 1)]
    if (p == 3 && warm && cold) { plot for [i=1:arms_n] @curve, for [i=1:arms_n] @dashes }
    if (p == 4) { set key at screen 0.03, screen y_px(picture_px_y - foot_px - key_px) left top vertical Left reverse samplen 2 width 1 maxrows key_rows }
    if (p == 4 && limit > 0) {
        plot for [i=1:arms_n] @curve, limit with lines dashtype 3 linewidth 1.6 linecolor rgb "#000000" notitle, \
            @entries, keyentry with lines dashtype 3 linewidth 1.6 linecolor rgb "#000000" title sprintf("memory budget, %.4g GiB", limit)
    }
    if (p == 4 && limit <= 0) { plot for [i=1:arms_n] @curve, @entries }
    if (p < 3 || (p == 3 && !(warm && cold))) { plot for [i=1:arms_n] @curve }
    unset label
} }
unset multiplot
unset output
