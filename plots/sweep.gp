# A sweep: wall-clock, TTFT and memory of each arm over the value that is swept.
# usage: gnuplot -d -c sweep.gp DATA.tsv PICTURE, DATA.tsv as `ratecast project SWEEP --plot` makes it: a comment (what it
# is, the swept path, the memory budget in MiB or -, the baseline), then value, arm, wall_s, speedup, ttft_cold_p50_ms,
# ttft_warm_p50_ms, peak_mib, extrapolated; that line names them.
data = ARG1
picture = ARG2
here = ARG0
while (strlen(here) > 0 && here[strlen(here):] ne "/") {
    here = strlen(here) > 1 ? here[1:strlen(here)-1] : ""
}
set datafile separator "\t"

# ---- arms, values, and which columns have values ----

array arm[64]
arms_n = 0
array value_of[64]
values_n = 0
columns = ""
path = ""
name = ""
budget = ""
find(name) = (found = 0, sum [i=1:arms_n] (arm[i] eq name ? (found = i) : 0), found)
see(value, name) = (find(name) > 0 || arms_n == 64 ? 0 : (arms_n = arms_n + 1, arm[arms_n] = name, 0), \
    (values_n > 0 && value_of[values_n] eq value) || values_n == 64 ? 0 : (values_n = values_n + 1, value_of[values_n] = value, 0), 1)
stats data skip 2 using (see(strcol(1), strcol(2))) nooutput
has(k, x) = (strstrt(columns, sprintf(" %d ", k)) ? 0 : (columns = columns.sprintf(" %d ", k), 0), 1)
do for [k in "5 6"] { stats data skip 2 using (strcol(int(0 + k)) eq "" ? 1 : has(int(0 + k), 1)) nooutput }
set datafile commentschars ""
stats data every ::0::0 using (name = strcol(1), path = strcol(2), budget = strcol(3), 1) nooutput
set datafile commentschars
extrapolated = 0
stats data skip 2 using (extrapolated = extrapolated + $8, 1) nooutput

# ---- the picture ----

picture_px_y = 560
load here."common.gp"
place(value) = (spot = 0, sum [j=1:values_n] (value_of[j] eq value ? (spot = j) : 0), spot)
y(i, k) = strcol(2) eq arm[i] && strcol(k) ne "" ? column(k) : NaN
set multiplot layout 1,3 title name[3:*] font "DejaVu Sans,16"
set key at graph 0, graph -0.36 left top Left reverse samplen 2 width 1 maxrows 6
set bmargin 9
set xrange [0.6:values_n + 0.4]
set yrange [0:*]
set xtics (value_of[1] 1)
do for [i=2:values_n] { set xtics add (value_of[i] i) }
set xlabel path noenhanced

set title "wall-clock, s"
plot for [i=1:arms_n] data skip 2 using (place(strcol(1))):(y(i, 3)) with linespoints linetype 1 linewidth 1.6 \
        pointtype int(pick(filled, i)) pointsize 0.9 linecolor rgb colour(i) title arm[i]

set title "TTFT p50, s"
set key off
ttft = "data skip 2 using (place(strcol(1))):(y(i, k) / 1000) with linespoints linewidth 1.6 pointtype int(pick(filled, i)) pointsize 0.9 linecolor rgb colour(i)"
warm = strstrt(columns, " 6 ")
cold = strstrt(columns, " 5 ")
if (warm && cold) { set title "TTFT p50, s (dashed: first turns)" }
solid = warm ? 6 : 5
if (warm || cold) {
    plot for [k=solid:solid] for [i=1:arms_n] @ttft dashtype 1, for [k=5:(warm && cold ? 5 : 4)] for [i=1:arms_n] @ttft dashtype 2
}

set title "peak memory, GiB"
set key on
limit = budget eq "-" ? 0 : budget / 1024.0
gib = "data skip 2 using (place(strcol(1))):(y(i, 7) / 1024) with linespoints linetype 1 linewidth 1.6 pointtype int(pick(filled, i)) pointsize 0.9 linecolor rgb colour(i) notitle"
if (extrapolated > 0) { set label 9 "Some times are priced outside the card's measured range: see the report." at screen 0.02, screen 0.03 font "DejaVu Sans,12" }
set label 10 "A modeled projection, no part of it ran on silicon." at screen 0.98, screen 0.03 right font "DejaVu Sans,12"
if (limit > 0) { plot for [i=1:arms_n] @gib, limit with lines dashtype 3 linewidth 1.6 linecolor rgb "#000000" title sprintf("memory budget, %.4g GiB", limit) } else {
    plot for [i=1:arms_n] @gib
}
unset multiplot
unset output
