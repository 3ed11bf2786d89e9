# What a rate card measured and the curves that a projection takes from it: decode and prefill side by side.
# usage: gnuplot -d -c card.gp DATA.tsv PICTURE, DATA.tsv of `ratecast show CARD --tsv`:
# a comment that names the card, one that says what has no place in the picture, then phase, kind, series, context_tok, x, ms, tok_s; that line names them.
data = ARG1
picture = ARG2
here = ARG0
while (strlen(here) > 0 && here[strlen(here):] ne "/") {
    here = strlen(here) > 1 ? here[1:strlen(here)-1] : ""
}
set datafile separator "\t"

# ---- what there is: the context of each series of both phases, whether it has a curve, other points ----

array context[20]
do for [i=1:20] { context[i] = "" }
lines = ""
others = ""
unused = ""
phases = ""
name = ""
note = ""
array lo[2]
array hi[2]
lo[1] = 1e300
lo[2] = 1e300
hi[1] = 0
hi[2] = 0
place(phase, series) = (phase eq "prefill" ? 10 : 0) + series
which(phase) = phase eq "decode" ? 1 : 2
see(phase, kind, series, tok, x) = (i = which(phase), lo[i] = x < lo[i] ? x : lo[i], hi[i] = x > hi[i] ? x : hi[i], \
    strstrt(phases, phase) ? 0 : (phases = phases." ".phase, 0), \
    kind eq "curve" && !strstrt(lines, sprintf(" %d ", place(phase, series))) ? \
        (lines = lines.sprintf(" %d ", place(phase, series)), 0) : 0, \
    kind eq "excluded" ? (unused = unused." ".phase, 0) : \
    series == 0 ? (others = others." ".phase, 0) : (context[place(phase, series)] = tok, 0), 1)
stats data skip 3 using (see(strcol(1), strcol(2), $3, strcol(4), $5)) nooutput
set datafile commentschars ""
stats data every ::0::0 using (name = strcol(1), 1) nooutput
set datafile commentschars
name = name[3:*]
set datafile commentschars ""
stats data every ::1::1 using (note = strcol(1), 1) nooutput
set datafile commentschars
note = note[3:*] eq "not drawn: nothing" ? "" : note[3:*]

# ---- the picture ----

picture_px_y = 620
load here."common.gp"
is(phase, kind, series, x) = strcol(1) eq phase && strcol(2) eq kind && $3 == 0 + series ? x : NaN
y(phase) = phase eq "decode" ? $6 : $7
# s: a word, the number of a series
mark(s) = s eq "0" ? 7 : 0 + pick(filled, s)
shade(s) = s eq "0" ? "#909090" : colour(0 + s)
label_of(s) = s eq "0" ? (phase eq "decode" ? "other contexts" : "other prompts") : \
    (phase eq "decode" ? "context " : "depth ").context[first + s]
n = words(phases)
set multiplot layout 1,n title name font "DejaVu Sans,17"
if (note ne "") { set label 1 note at screen 0.01, screen 0.02 left font "DejaVu Sans,11" textcolor rgb "#606060" }
set key at graph 0.5, graph -0.25 center top Left reverse samplen 2 width 1 maxrows 4
set bmargin 9
set rmargin 3
set logscale x 2
set format x "%.0f"
do for [phase in phases] {
    first = phase eq "decode" ? 0 : 10
    own = ""
    curves = ""
    do for [s=1:9] { if (context[first + s] ne "") {
        own = own.sprintf(" %d", s)
        if (strstrt(lines, sprintf(" %d ", first + s))) { curves = curves.sprintf(" %d", s) }
    } }
    set title phase eq "decode" ? "decode: time of a step" : "prefill: tokens a second"
    set xlabel phase eq "decode" ? "sequences in the batch" : "new tokens of the prompt"
    set ylabel phase eq "decode" ? "ms" : "tok/s"
    set xrange [lo[which(phase)] / 1.2:hi[which(phase)] * 1.2]
    set yrange [0:*]
    if (strstrt(others, phase)) { own = " 0".own }
    # gnuplot draws a list that is empty once, so the command is put together here
    parts = ""
    do for [s in curves] { parts = parts.sprintf(", data skip 3 using (is(phase, 'curve', '%s', $5)):(y(phase)) with lines \
linetype 1 linewidth 1.6 linecolor rgb shade('%s') notitle", s, s) }
    do for [s in own] { parts = parts.sprintf(", data skip 3 using (is(phase, 'measured', '%s', $5)):(y(phase)) with points \
pointtype int(mark('%s')) pointsize %s linecolor rgb shade('%s') title label_of('%s')", s, s, s eq "0" ? "0.6" : "0.9", s, s) }
    if (strstrt(unused, phase)) { parts = parts.", data skip 3 using (is(phase, 'excluded', '0', $5)):(y(phase)) with points \
pointtype 2 pointsize 0.9 linecolor rgb '#909090' title 'not used'" }
    if (curves ne "") { parts = parts.", keyentry with lines linetype 1 linewidth 1.6 linecolor rgb '#404040' title 'fitted curve'" }
    eval "plot ".parts[3:*]
    unset label 1
}
unset multiplot
unset output
