# Makes, from kernels.metal, a function for each kernel that calls it with what its [[attributes]] ask for, and the table of
# all: usage: awk -f thunks.awk -f FOLDER/thunks.awk kernels.metal. Fails on an attribute that the folder's file does not know.
# That file says what a parameter is given, and what is printed:
#   group_memory()           the name of threadgroup memory
#   buffer(at, type)         buffer `at`; type as written, with its & or *
#   position(attribute, type) a place in the grid; "" where there is none
#   begin_all() begin_kernel() end_kernel(name, call) end_all()
function die(what) {
    print "thunks.awk: " name ": " what | "cat >&2"
    failed = 1
    exit 1
}
function argument(p, type, attribute, value) {
    gsub(/^[ ]+|[ ]+$/, "", p)
    if (p ~ /GROUP_MEMORY\(0\)$/) {
        sub(/[A-Za-z_0-9]+ *GROUP_MEMORY\(0\)$/, "", p)
        return "(" p ")" group_memory()
    }
    if (!match(p, /\[\[.*\]\]$/)) die("no attribute: " p)
    attribute = substr(p, RSTART + 2, RLENGTH - 4)
    type = substr(p, 1, RSTART - 1)
    sub(/[A-Za-z_0-9]+ *$/, "", type) # the name
    if (match(attribute, /^buffer\([0-9]+\)$/)) return buffer(substr(attribute, 8, length(attribute) - 8), type)
    value = position(attribute, type)
    if (value == "") die("unknown attribute " attribute)
    return value
}
{
    sub(/\/\/.*/, "")
    text = text " " $0
}
END {
    if (failed) exit 1
    begin_all()
    while (match(text, /kernel void [a-z_0-9A-Z]+\(/)) {
        name = substr(text, RSTART + 12, RLENGTH - 13)
        text = substr(text, RSTART + RLENGTH)
        list = substr(text, 1, index(text, "{") - 1)
        sub(/\) *$/, "", list)
        n = split(list, parameter, ",")
        call = ""
        begin_kernel()
        for (i = 1; i <= n; i++) call = call (i > 1 ? ",\n        " : "") argument(parameter[i])
        if (failed) exit 1
        end_kernel(name, call)
        kernels_n++
    }
    if (!kernels_n) die("no kernel")
    end_all()
}
