# Where the wall-clock goes: a bar an arm, by device prefill, decode, other and idle time.
# usage: gnuplot -d -c stack.gp DATA.tsv PICTURE, DATA.tsv as `ratecast project SCENARIO --plot` makes it: a comment (what
# it is, K, H, P, the baseline, what the intervals are called), then arm, wall_s, prefill_s, decode_s, other_s, idle_s, lo_s, hi_s, speedup,
# extrapolated; that line names them.
data = ARG1
picture = ARG2
here = ARG0
while (strlen(here) > 0 && here[strlen(here):] ne "/") {
    here = strlen(here) > 1 ? here[1:strlen(here)-1] : ""
}
set encoding utf8
set datafile separator "\t"
set datafile commentschars ""

# ---- arms, the longest bar, which parts there are ----

array arm[64]
array wall[64]
array high[64]
array part[256]
array gain[64]
arms_n = 0
most = 0
intervals_n = 0
extrapolated = 0
head = ""
session = ""
base = ""
interval = ""
total(k) = sum [i=1:arms_n] part[4 * i - 4 + k]
see(name, w, p, d, o, r, lo, hi, gain_text, e) = (arms_n = arms_n + 1, arm[arms_n] = name, wall[arms_n] = w, \
    part[4 * arms_n - 3] = p, part[4 * arms_n - 2] = d, part[4 * arms_n - 1] = o, part[4 * arms_n] = r, \
    high[arms_n] = hi eq "" ? w : 0 + hi, gain[arms_n] = gain_text, \
    intervals_n = intervals_n + (hi ne ""), extrapolated = extrapolated + e, \
    most = most > high[arms_n] ? most : high[arms_n], most = most > w ? most : w, 1)
stats data skip 2 using (see(strcol(1), $2, $3, $4, $5, $6, strcol(7), strcol(8), strcol(9), $10)) nooutput
counted(n, what) = sprintf("%s %s%s", n, what, n eq "1" ? "" : "s")
stats data every ::0::0 using (head = strcol(1), \
    session = counted(strcol(2), "agent")." of ".counted(strcol(3), "turn")." on a prefix of ".counted(strcol(4), "token"), \
    base = strcol(5), interval = strcol(6), 1) nooutput
simulated = strstrt(head[1:strstrt(head, "]")], "SIMULATED DEVICE") ? "SIMULATED DEVICE. " : ""

# ---- sizes: what a name and a number need beside the bars ----

one(s, n) = strlen(s) <= n ? s : s[1:n-1]."…"
cut(s, n) = (c = 0, sum [j=1:n] (s[j:j] eq " " ? (c = j) : 0), c > n / 2 ? c : n)
two(s, n) = strlen(s) <= n ? s : (c = cut(s, n), s[1:(s[c:c] eq " " ? c-1 : c)]."\n".one(s[c+1:*], n))
longest = 0
do for [i=1:arms_n] { longest = strlen(arm[i]) > longest ? strlen(arm[i]) : longest }
row_px = arms_n <= 16 ? 50.0 : 28.0
name_n = 30
name_px = 10.6 * (longest < name_n ? longest : name_n) + 34
head_px = 124.0
foot_px = 126.0
picture_px_y = int(head_px + foot_px + arms_n * row_px)
load here."common.gp"
seconds(x) = x >= 10000 ? sprintf("%.0f s", x) : x >= 100 ? sprintf("%.1f s", x) : x >= 1 ? sprintf("%.2f s", x) : \
    x >= 0.01 ? sprintf("%.4f s", x) : sprintf("%.3g s", x)
said(i) = seconds(wall[i]).(arms_n > 1 && gain[i] ne "" ? "  ".(arm[i] eq base ? "baseline" : sprintf("%.2fx", 0 + gain[i])) : "")
said_n = 0
do for [i=1:arms_n] { said_n = strlen(said(i)) > said_n ? strlen(said(i)) : said_n }
bars_px = picture_px_x - name_px - 30
most = most > 0 ? most : 1.0
right = most * bars_px / (bars_px - 9.6 * said_n - 20)
pixel = right / bars_px

# ---- the picture ----

kinds = "'device prefill' 'device decode' 'other' 'idle'"
fills = "#d55e00 #0072b2 #cc79a7 #d0d0d0"
inks = "#ffffff #ffffff #000000 #000000"
there = ""
do for [k=1:4] { if (total(k) > 0) { there = there.sprintf(" %d", k) } }
set lmargin at screen name_px / picture_px_x
set rmargin at screen 1 - 30.0 / picture_px_x
set tmargin at screen 1 - head_px / picture_px_y
set bmargin at screen foot_px / picture_px_y
set border 3
set xrange [0:right]
set yrange [arms_n + 0.5:0.5]
unset grid
set grid xtics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set format x (right >= 1e5 ? "%.0f" : "%g")
set xlabel "wall-clock, s"
set ytics scale 0 nomirror ("" 1)
do for [i=1:arms_n] { set ytics add ((arms_n <= 16 ? two(arm[i], name_n) : one(arm[i], name_n)) i) }
set label 1 one(simulated."Where the wall-clock goes: ".head[strstrt(head, "]") + 2:*], 84) at screen 30.0 / picture_px_x, screen 1 - 26.0 / picture_px_y \
    font "DejaVu Sans,17"
set label 2 session at screen 30.0 / picture_px_x, screen 1 - 54.0 / picture_px_y font "DejaVu Sans,14"
set label 3 head[3:strstrt(head, "]")].", no part of it ran on silicon.".(arms_n > 1 ? " x: wall-clock of ".one(base, 50)." over the arm's." : "") \
    at screen 30.0 / picture_px_x, screen 20.0 / picture_px_y font "DejaVu Sans,12"
if (extrapolated > 0) { set label 4 "Some times are priced outside the card's measured range: see the report." \
    at screen 30.0 / picture_px_x, screen 40.0 / picture_px_y font "DejaVu Sans,12" }
do for [i=1:arms_n] {
    set label 100 + i said(i) at high[i] + 10 * pixel, i left font "DejaVu Sans,14"
    from = 0.0
    do for [k=1:4] {
        x = part[4 * i - 4 + k]
        number = seconds(x)
        if (x > 0 && x / pixel > 8.5 * strlen(number) + 16) { set label 200 + 4 * i + k number at from + x / 2, i center front \
            font "DejaVu Sans,12" textcolor rgb word(inks, k) }
        from = from + x
    }
}
set key at screen 1 - 30.0 / picture_px_x, screen 1 - (head_px - 26) / picture_px_y right center horizontal Left reverse samplen 1.2 width -2 maxrows 1
start(i, k) = k == 1 ? 0 : sum [j=1:k-1] part[4 * i - 4 + j]
begin(i, k) = k < 2 ? 0.0 : start(i, k)
bars = "data skip 2 using (begin($0 + 1, int(k)) + column(2 + k) / 2):($0 + 1):(begin($0 + 1, int(k))):(begin($0 + 1, int(k)) + column(2 + k)): \
    ($0 + 0.68):($0 + 1.32) with boxxyerror fillstyle solid 1 noborder fillcolor rgb word(fills, int(k)) title word(kinds, int(k))"
if (there eq "") { there = " 1" }
if (intervals_n > 0) {
    plot for [k in there] @bars, \
        data skip 2 using (strcol(8) eq "" ? NaN : $2):($0 + 1):7:8 with xerrorbars pointtype -1 linewidth 2 \
            linecolor rgb "#000000" title interval
} else {
    plot for [k in there] @bars
}
unset output
