# Projected against witnessed wall-clock, one point a run.
# usage: gnuplot -d -c validate.gp DATA.tsv PICTURE, DATA.tsv of `ratecast validate --tsv`:
# run_id, arm, witnessed_s, projected_s, lo_s, hi_s, card_only_s, with_host (1: the interval is of more than the card's
# scatter), simulated (1: the card is of a simulated device); the first line names them.
data = ARG1
picture = ARG2
here = ARG0
while (strlen(here) > 0 && here[strlen(here):] ne "/") {
    here = strlen(here) > 1 ? here[1:strlen(here)-1] : ""
}
load here."common.gp"

# ---- the arms, in the order in which they come, and the range ----

array arm[64]
arms_n = 0
find(name) = (found = 0, sum [i=1:arms_n] (arm[i] eq name ? (found = i) : 0), found)
note(name) = find(name) > 0 || arms_n == 64 ? 0 : (arms_n = arms_n + 1, arm[arms_n] = name, 0)
lo = 1e300
hi = 0
see(x) = x > 0 ? (lo = x < lo ? x : lo, hi = x > hi ? x : hi) : 0
stats data skip 1 using (note(strcol(2)), see($3), see($4), see($5), see($6), see($7), 1) nooutput
runs_n = int(STATS_records)
# a run on the edge of a band is inside
inside(seen, said, part) = seen > 0 && said > 0 && abs(said - seen) <= part * seen * (1 + 1e-9)
in_5 = 0
in_10 = 0
of_n = 0
with_cards = ""
count(seen, said, name, card_only) = (of_n = of_n + (seen > 0 && said > 0), in_5 = in_5 + inside(seen, said, 0.05), \
    in_10 = in_10 + inside(seen, said, 0.10), \
    seen > 0 && card_only > 0 && !strstrt(with_cards." ", sprintf(" %d ", find(name))) ? \
        (with_cards = with_cards.sprintf(" %d", find(name)), 0) : 0, 1)
stats data skip 1 using (count($3, $4, strcol(2), $7)) nooutput
by_scatter = 0
with_host = 0
simulated = 0
kind(from, to, host, sim) = (simulated = simulated + sim, to > from ? (host > 0 ? (with_host = with_host + 1) : (by_scatter = by_scatter + 1)) : 0, 1)
stats data skip 1 using (kind($5, $6, $8, $9)) nooutput
# as `ratecast` calls them in its tables
interval = by_scatter == 0 ? "90 % interval" : with_host == 0 ? "90 % by card scatter" : "90 % interval or by card scatter"
lo = lo / 1.12
hi = hi * 1.12

# ---- axes ----

set logscale xy
set xrange [lo:hi]
set yrange [lo:hi]
set size ratio 1
do for [m in "1 2 3 5"] { do for [d = -6:8] {
    set xtics add (sprintf("%g", m * 10.0**d) m * 10.0**d)
    set ytics add (sprintf("%g", m * 10.0**d) m * 10.0**d)
} }
do for [m in "4 6 7 8 9"] { do for [d = -6:8] {
    set xtics add ("" m * 10.0**d 1)
    set ytics add ("" m * 10.0**d 1)
} }
set xlabel "witnessed wall-clock, s"
set ylabel "projected wall-clock, s"
set title (simulated > 0 ? "SIMULATED DEVICE. " : "").sprintf("Projected against witnessed wall-clock, %d runs\ninside ± 5 %%: %d of %d; inside ± 10 %%: %d of %d", \
    runs_n, in_5, of_n, in_10, of_n)
set key outside right top Left reverse samplen 1 spacing 1.25 width 1
set samples 200

# ---- the picture ----

is(i, x) = strcol(2) eq arm[i] && x > 0 ? x : NaN
# an arm without any such point would be a warning, and an empty list would be drawn once
cards = with_cards eq "" ? "" : "for [s in with_cards] data skip 1 using 3:(is(int(s), $7)) with points \
    pointtype int(pick(hollow, int(s))) pointsize 0.8 linewidth 1 linecolor rgb colour(int(s)) notitle,"
plot "+" using 1:($1 * 0.9):($1 * 1.1) with filledcurves fillstyle solid 1 noborder fillcolor rgb "#eeeeee" title "± 10 %", \
     "+" using 1:($1 * 0.95):($1 * 1.05) with filledcurves fillstyle solid 1 noborder fillcolor rgb "#d2d2d2" title "± 5 %", \
     x with lines linetype 1 linewidth 1 linecolor rgb "#808080" title "projected = witnessed", \
     @cards for [i=1:arms_n] data skip 1 using 3:(is(i, $4)):5:6 with yerrorbars pointtype int(pick(filled, i)) pointsize 0.9 \
         linewidth 1.2 linecolor rgb colour(i) title arm[i], \
     keyentry with yerrorbars pointtype -1 linewidth 1.2 linecolor rgb "#404040" title interval, \
     keyentry with points pointtype 6 pointsize 0.8 linewidth 1 linecolor rgb "#404040" title "card only, no host terms"
unset output
