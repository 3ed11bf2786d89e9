# Why head-to-heads, or arms, differ: a row a step, the speedup on the left, the wall-clocks on the right.
# usage: gnuplot -d -c waterfall.gp DATA.tsv PICTURE, DATA.tsv as `ratecast explain --plot` makes it: a comment (what it
# is, arms or scenarios, the arm, the baseline), then link, kind, term, cause, arm_s, arm_change_s, base_s,
# base_change_s, speedup, speedup_change, extrapolated; that line names them.
data = ARG1
picture = ARG2
here = ARG0
while (strlen(here) > 0 && here[strlen(here):] ne "/") {
    here = strlen(here) > 1 ? here[1:strlen(here)-1] : ""
}
set encoding utf8
set datafile separator "\t"
set datafile commentschars ""

# ---- the rows; quantity 1: the speedup, 2: the wall-clock of the arm, 3: that of the baseline ----

most_rows = 1024
array kind[most_rows]
array term[most_rows]
array cause[most_rows]
array link[most_rows]
array value[3 * most_rows]
array change[3 * most_rows]
array most[3]
do for [q=1:3] { most[q] = 0 }
rows_n = 0
extrapolated = 0
longest = 0
head = ""
compared = ""
arm = ""
base = ""
put(q, v, c) = (value[3 * rows_n - 3 + q] = v, change[3 * rows_n - 3 + q] = c, \
    most[q] = v ne "" && 0 + v > most[q] ? 0 + v : most[q], \
    most[q] = v ne "" && c ne "" && v - c > most[q] ? v - c : most[q], 1)
see(l, k, t, why, a, ac, b, bc, x, xc, e) = rows_n == most_rows ? 0 : (rows_n = rows_n + 1, link[rows_n] = l, kind[rows_n] = k, \
    term[rows_n] = t, cause[rows_n] = why, longest = strlen(why) > longest ? strlen(why) : longest, \
    extrapolated = extrapolated + e, put(1, x, xc), put(2, a, ac), put(3, b, bc), 1)
stats data skip 2 using (see($1, strcol(2), strcol(3), strcol(4), strcol(5), strcol(6), strcol(7), strcol(8), strcol(9), \
    strcol(10), $11)) nooutput
stats data every ::0::0 using (head = strcol(1), compared = strcol(2), arm = strcol(3), base = strcol(4), 1) nooutput
do for [q=1:3] { most[q] = most[q] > 0 ? most[q] : 1.0 }
within = compared eq "arms"

# ---- sizes ----

one(s, n) = strlen(s) <= n ? s : s[1:n-1]."…"
part_of(s, a, b) = s[a:b]
cut(s, n) = (c = 0, sum [j=1:n] (s[j:j] eq " " ? (c = j) : 0), c > n / 2 ? c : n)
cause_n = 46
small = rows_n > 60
row_px = small ? 36.0 : longest > cause_n ? 62.0 : 50.0
head_px = 136.0
foot_px = 128.0
gap = 0.35
array place[most_rows]
at = 0.0
do for [i=1:rows_n] {
    at = at + 1 + (within && i > 1 && link[i] != link[i > 1 ? i - 1 : 1] ? gap : 0)
    place[i] = at
}
picture_px_y = int(head_px + foot_px + at * row_px)
load here."common.gp"
array left_px[2]
array right_px[2]
left_px[1] = 452.0
right_px[1] = 788.0
left_px[2] = 826.0
right_px[2] = 1176.0
decimals = most[2] >= 100000 || most[3] >= 100000 ? 0 : most[2] >= 100 || most[3] >= 100 ? 1 : most[2] >= 1 || most[3] >= 1 ? 2 : 4
format_x = most[1] >= 1e5 ? "%.1e" : most[1] >= 1000 ? "%.0f" : "%.2f"
format_s = sprintf("%%.%df", decimals)
number(q, v) = q == 1 ? sprintf(format_x."x", v) : sprintf(format_s." s", v)
# 0.00 has no sign, whatever it was rounded from
signed(q, v) = abs(v) < 0.5 * 10**(-(q == 1 ? 2 : decimals)) ? number(q, 0) : (v > 0 ? "+" : "").number(q, v)
said(q, i) = value[3 * i - 3 + q] eq "" ? "" : \
    change[3 * i - 3 + q] eq "" ? number(q, 0 + value[3 * i - 3 + q]) : signed(q, 0 + change[3 * i - 3 + q])
after(q, i) = 0 + value[3 * i - 3 + q]
before(q, i) = change[3 * i - 3 + q] eq "" ? 0 : after(q, i) - change[3 * i - 3 + q]
array right[2]
array pixel[2]
do for [panel=1:2] {
    room = 14.0
    do for [q=(panel == 1 ? 1 : 2):(panel == 1 ? 1 : 3)] { do for [i=1:rows_n] {
        room = 14 + 8.4 * strlen(said(q, i)) > room ? 14 + 8.4 * strlen(said(q, i)) : room
    } }
    width = right_px[panel] - left_px[panel]
    top = panel == 1 ? most[1] : most[2] > most[3] || within ? most[2] : most[3]
    right[panel] = top * width / (width - room)
    pixel[panel] = right[panel] / width
}

# ---- words beside the rows, and around the picture ----

x_px(px) = 1.0 * px / picture_px_x
y_px(px) = 1 - 1.0 * px / picture_px_y
row_y(i, px) = y_px(head_px + (place[i] - 0.5) * row_px + px)
set multiplot
set label 1 one(within ? "Why the arms differ: ".head[strstrt(head, "]") + 2:*] : \
    "What moves the speedup of ".one(arm, 28)." over ".one(base, 28), 84) at screen x_px(30), screen y_px(26) font "DejaVu Sans,17"
set label 2 within ? "a step: what changes when a term of the baseline is replaced, after those above it" : one(head[strstrt(head, "]") + 2:*], 106) \
    at screen x_px(30), screen y_px(54) font "DejaVu Sans,13"
set label 3 one(head[3:strstrt(head, "]")].", no part of it ran on silicon. speedup: wall-clock of ".one(base, 20). \
    " over that of ".one(arm, 20).".", 150) at screen x_px(30), screen 20.0 / picture_px_y font "DejaVu Sans,12"
if (extrapolated > 0) { set label 4 "Some times are priced outside the card's measured range: see the report." \
    at screen x_px(30), screen 40.0 / picture_px_y font "DejaVu Sans,12" }
do for [i=1:rows_n] {
    state = kind[i] ne "step" && kind[i] ne "unexplained"
    c = strlen(cause[i]) > cause_n && !small ? cut(cause[i], cause_n) : 0
    set label 100 + 3 * i one(term[i], 34) at screen x_px(30), screen row_y(i, cause[i] eq "" ? 0 : c ? -18 : -9) \
        font state ? "DejaVu Sans Bold,13" : "DejaVu Sans,13"
    first = c ? part_of(cause[i], 1, c) : one(cause[i], cause_n)
    if (cause[i] ne "") { set label 101 + 3 * i first at screen x_px(30), \
        screen row_y(i, c ? 1 : 9) font "DejaVu Sans,11" textcolor rgb "#404040" }
    if (c) { set label 102 + 3 * i one(part_of(cause[i], c + 1, strlen(cause[i])), cause_n) at screen x_px(30), screen row_y(i, 17) font "DejaVu Sans,11" \
        textcolor rgb "#404040" }
}

# ---- the two panels ----

state_is = "#606060"
print_is = "#b0b0b0"
faster_is = "#0072b2"
slower_is = "#d55e00"
arm_is = "#009e73"
base_is = "#cc79a7"
shade(i) = kind[i] eq "printed" ? print_is : kind[i] eq "from" || kind[i] eq "to" ? state_is : \
    up(i) ? faster_is : slower_is
# a step that raises the speedup; between arms one that shortens the wall-clock, which is the same where both are known
up(i) = within && change[3 * i - 1] ne "" ? change[3 * i - 1] <= 0 : \
    value[3 * i - 2] eq "" || change[3 * i - 2] eq "" || change[3 * i - 2] >= 0
up_is = within ? "faster" : "speedup up"
down_is = within ? "slower" : "speedup down"
paint(q, i) = q == 1 || within ? shade(i) : q == 2 ? arm_is : base_is
low(q, i) = before(q, i) < after(q, i) ? before(q, i) : after(q, i)
high(q, i) = before(q, i) < after(q, i) ? after(q, i) : before(q, i)
shift(q) = q == 1 || within ? 0.0 : q == 2 ? -0.2 : 0.2
half(q) = q == 1 || within ? 0.28 : 0.17
has(k) = (found = 0, sum [i=1:rows_n] (kind[i] eq k ? (found = 1) : 0), found)
# two to six numbers on an axis; long ones stand apart
step_of(x) = (d = 10.0**floor(log10(x)), x / d > (x >= 1e4 ? 4 : 6) ? 2 * d : x / d > 2.5 ? d : d / 2)
set border 3
set tmargin at screen y_px(head_px)
set bmargin at screen foot_px / picture_px_y
set yrange [at + 0.5:0.5]
unset grid
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set ytics scale 0 nomirror ("" 1)
outside = at + 9
box = "keyentry with boxes fillstyle solid 1 noborder fillcolor rgb"
do for [panel=1:2] {
    unset object
    unset arrow
    first = panel == 1 ? 1 : 2
    last = panel == 1 ? 1 : within ? 2 : 3
    do for [q=first:last] { do for [i=1:rows_n] { if (value[3 * i - 3 + q] ne "") {
        y = place[i] + shift(q)
        n = 3 * i - 3 + q
        wide = high(q, i) > low(q, i) + 2 * pixel[panel] ? high(q, i) : low(q, i) + 2 * pixel[panel]
        set object n rectangle from low(q, i), y - half(q) to wide, y + half(q) front fillstyle solid 1 noborder fillcolor rgb paint(q, i)
        set label 4000 + n said(q, i) at high(q, i) + 7 * pixel[panel], y left front font "DejaVu Sans,".(q == 1 || within ? "13" : "11")
        if (i < rows_n) { if (link[i] == link[i+1] || !within) { if (value[3 * i + q] ne "") {
            set arrow n from after(q, i), y + half(q) to after(q, i), place[i+1] + shift(q) - half(q) nohead back \
                linewidth 0.8 linecolor rgb (q == 1 || within ? "#808080" : paint(q, i))
        } } }
    } } }
    set lmargin at screen x_px(left_px[panel])
    set rmargin at screen x_px(right_px[panel])
    set xrange [0:right[panel]]
    set xtics step_of(right[panel])
    set format x (panel == 1 ? "%gx" : right[2] >= 1e5 ? "%.0f" : "%g")
    set xlabel panel == 1 ? "speedup" : within ? "wall-clock of the arm, s" : "wall-clock, s"
    set key at screen x_px(left_px[panel]), screen y_px(100) left center horizontal Left reverse samplen 1.2 width -1 maxrows 2 font "DejaVu Sans,12"
    if (panel == 1) {
        if (right[1] > 1) { set arrow 9000 from 1, graph 0 to 1, graph 1 nohead back dashtype 2 linewidth 1.2 linecolor rgb "#404040" }
        if (has("printed")) {
            plot outside notitle, @box state_is title "projected", @box print_is title "printed", @box faster_is title up_is, @box slower_is title down_is
        } else {
            plot outside notitle, @box state_is title "projected", @box faster_is title up_is, @box slower_is title down_is
        }
    } else {
        if (within) { plot outside notitle } else {
            plot outside notitle, @box arm_is title one(arm, 26), @box base_is title one(base, 26)
        }
    }
    do for [i=1:rows_n] { do for [q=first:last] { unset label 4000 + 3 * i - 3 + q } }
    do for [i=1:4] { unset label i }
    do for [i=1:rows_n] { do for [k=0:2] { unset label 100 + 3 * i + k } }
}
unset multiplot
unset output
