# What happened when: agents and the device of each arm, below each other on one time axis.
# usage: gnuplot -d -c timeline.gp DATA.tsv PICTURE, DATA.tsv of `ratecast project --timeline-tsv`:
# a comment, then arm, track, kind, turn, start_s, end_s, tokens; that line names them.
data = ARG1
picture = ARG2
here = ARG0
while (strlen(here) > 0 && here[strlen(here):] ne "/") {
    here = strlen(here) > 1 ? here[1:strlen(here)-1] : ""
}
set datafile separator "\t"
# a name may begin with #
set datafile commentschars ""

# ---- the arms, in the order in which they come, their tracks, and the range ----

array arm[64]
array tracks[64]
arms_n = 0
lo = 1e300
hi = -1e300
last = ""
array kinds_of[64]
number(track) = track eq "device" ? 0 : 0 + track[7:*]
see(name, track, kind, from, to) = (name ne last && arms_n < 64 ? (arms_n = arms_n + 1, arm[arms_n] = name, \
    last = name, kinds_of[arms_n] = "", tracks[arms_n] = 0) : 0, n = number(track), \
    tracks[arms_n] = n > tracks[arms_n] ? n : tracks[arms_n], \
    strstrt(kinds_of[arms_n], kind) == 0 ? (kinds_of[arms_n] = kinds_of[arms_n]." ".kind, 0) : 0, \
    lo = from < lo ? from : lo, hi = to > hi ? to : hi, 1)
stats data skip 2 using (see(strcol(1), strcol(2), strcol(3), $5, $6)) nooutput

# A window keeps what touches it whole: shown is the window.
first = ""
stats data every ::0::0 using (first = strcol(1), 1) nooutput
touches = strstrt(first, "only what touches ")
if (touches) {
    window = first[touches + 18:*]
    lo = word(window, 1) > lo ? 0 + word(window, 1) : lo
    hi = word(window, 3) < hi ? 0 + word(window, 3) : hi
}
rows_n = 0
do for [i=1:arms_n] { rows_n = rows_n + tracks[i] + 1 }

# ---- one panel an arm, as high as it has tracks ----

head_px = 76.0
foot_px = 78.0
title_px = 34.0
row_px = rows_n <= 60 ? 22.0 : rows_n <= 250 ? 9.0 : 4.0
picture_px_y = int(head_px + foot_px + arms_n * title_px + rows_n * row_px)
load here."common.gp"
# an arm may be named NaN
set datafile missing

kinds = "queue prefill decode tool host constant"
fills = "#bdbdbd #d55e00 #0072b2 #e69f00 #000000 #cc79a7"
# What the device does between steps is drawn below them: at the scale of a session it is narrower than a pixel.
order = "host constant queue tool decode prefill"
half(kind) = kind eq "queue" || kind eq "tool" ? 0.16 : 0.4
fill(kind) = (place = 0, sum [k=1:words(kinds)] (word(kinds, k) eq kind ? (place = k) : 0), word(fills, place))
is(i, kind, x) = strcol(1) eq arm[i] && strcol(3) eq kind ? x : NaN

named = ""
do for [kind in kinds] {
    do for [i=1:arms_n] { if (strstrt(kinds_of[i], kind) && !strstrt(named, kind)) { named = named." ".kind } }
}

# ---- the picture ----

set multiplot
set border 1
set xrange [lo:hi]
set lmargin at screen 0.09
set rmargin at screen 0.97
unset ytics
unset grid
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
class = strstrt(first, "] ") ? first[3:strstrt(first, "] ")]." " : ""
set label 1 "What happened when ".class."no part of it ran on silicon" at screen 0.09, screen 1 - 26.0 / picture_px_y \
    font "DejaVu Sans,17"
top = head_px
do for [i=1:arms_n] {
    top = top + title_px
    bottom = top + (tracks[i] + 1) * row_px
    set tmargin at screen 1 - top / picture_px_y
    set bmargin at screen 1 - bottom / picture_px_y
    set yrange [tracks[i] + 0.5:-0.5]
    set label 2 arm[i] at graph 0, graph 1 offset 0, 0.7 font "DejaVu Sans,15"
    unset ytics
    set ytics scale 0 nomirror
    step = row_px >= 14 ? 1 : row_px >= 8 ? 5 : 20
    set ytics add ("device" 0)
    do for [a=1:tracks[i]] { if (a % step == 0 || a == 1) { set ytics add (sprintf("agent %d", a) a) } }
    if (i == arms_n) { set format x "%g"; set xlabel "seconds since the session began" } else { set format x "" }
    if (i == 1) {
        set key at screen 0.97, screen 1 - 44.0 / picture_px_y right top horizontal Left reverse samplen 1.2 width 0
    } else { unset key }
    drawn = ""
    do for [kind in order] { if (strstrt(kinds_of[i], kind)) { drawn = drawn." ".kind } }
    plot for [kind in drawn] data skip 2 using (is(i, kind, ($5 + $6) / 2)):(number(strcol(2))):5:6: \
        (number(strcol(2)) - half(kind)):(number(strcol(2)) + half(kind)) with boxxyerror fillstyle solid 1 border linecolor rgb fill(kind) \
        linewidth 0.4 fillcolor rgb fill(kind) notitle, \
        for [kind in named] keyentry with boxes fillstyle solid 1 noborder fillcolor rgb fill(kind) title kind
    unset label 1
    top = bottom
}
unset multiplot
unset output
