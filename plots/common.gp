# What every picture has in common; a script sets `picture` and loads this before it plots. Each style that is used is
# set here: defaults differ between gnuplot 5.4 and 6.
if (!exists("picture")) exit error "common.gp: set picture (name of the output, .svg or .png) first"

set encoding utf8
set datafile separator "\t"
set datafile missing "NaN"

picture_px_x = 1200
if (!exists("picture_px_y")) picture_px_y = 880
if (strlen(picture) > 4 && picture[strlen(picture)-3:] eq ".png") {
    set terminal pngcairo noenhanced size picture_px_x,picture_px_y font "DejaVu Sans,14" background rgb "white"
} else {
    set terminal svg noenhanced size picture_px_x,picture_px_y font "DejaVu Sans,14" background rgb "white"
}
set output picture

set border 3 linewidth 1 linecolor rgb "#404040"
set tics nomirror out
set grid xtics ytics linetype 1 linewidth 0.5 linecolor rgb "#e4e4e4"
set bars 0.4

# Ten colours that stay apart for most eyes and on white paper, and a point type for each.
colours = "#0072b2 #d55e00 #009e73 #cc79a7 #000000 #e69f00 #56b4e9 #8c2d04 #6a51a3 #808000"
filled = "7 5 9 11 13 7 5 9 11 13"
hollow = "6 4 8 10 12 6 4 8 10 12"
pick(list, i) = word(list, (i - 1) % words(list) + 1)
colour(i) = pick(colours, i)

