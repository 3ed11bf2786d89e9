# Makes, from kernels.metal, a C++ function for each kernel that calls it with what its [[attributes]] ask for, and
# the table of all: usage: awk -f thunks.awk kernels.metal. Fails on an attribute that it does not know.
function die(what) {
    print "thunks.awk: " name ": " what | "cat >&2"
    failed = 1
    exit 1
}
function argument(p, type, attribute, at) {
    gsub(/^[ ]+|[ ]+$/, "", p)
    if (p ~ /GROUP_MEMORY\(0\)$/) {
        sub(/[A-Za-z_0-9]+ *GROUP_MEMORY\(0\)$/, "", p)
        return "(" p ")b->group_memory"
    }
    if (!match(p, /\[\[.*\]\]$/)) die("no attribute: " p)
    attribute = substr(p, RSTART + 2, RLENGTH - 4)
    type = substr(p, 1, RSTART - 1)
    sub(/[A-Za-z_0-9]+ *$/, "", type) # the name
    if (match(attribute, /^buffer\([0-9]+\)$/)) {
        at = substr(attribute, 8, length(attribute) - 8)
        if (type ~ /& *$/) {
            sub(/& *$/, "", type)
            return "*(" type "*)b->buffer[" at "]"
        }
        return "(" type ")b->buffer[" at "]"
    }
    if (attribute == "thread_position_in_grid") return type ~ /uint3/ ? "three(msl_here()->thread_in_grid)" : "msl_here()->thread_in_grid[0]"
    if (attribute == "threadgroup_position_in_grid") return type ~ /uint3/ ? "three(msl_here()->group)" : "msl_here()->group[0]"
    if (attribute == "thread_index_in_threadgroup") return "msl_here()->index"
    if (attribute == "simdgroup_index_in_threadgroup") return "msl_here()->simd"
    if (attribute == "thread_index_in_simdgroup") return "msl_here()->lane"
    die("unknown attribute " attribute)
}
{
    sub(/\/\/.*/, "")
    text = text " " $0
}
END {
    if (failed) exit 1
    print "static uint3 three(const uint32_t v[3]) {\n    uint3 r = uint3(v[0]);\n    r.y = v[1];\n    r.z = v[2];\n    return r;\n}"
    while (match(text, /kernel void [a-z_0-9A-Z]+\(/)) {
        name = substr(text, RSTART + 12, RLENGTH - 13)
        text = substr(text, RSTART + RLENGTH)
        close_at = index(text, "{")
        list = substr(text, 1, close_at - 1)
        sub(/\) *$/, "", list)
        n = split(list, parameter, ",")
        call = ""
        for (i = 1; i <= n; i++) call = call (i > 1 ? ",\n        " : "") argument(parameter[i])
        if (failed) exit 1
        print "static void call_" name "(const msl_bindings *b) {\n    " name "(" call ");\n}"
        table = table "    {\"" name "\", call_" name "},\n"
        kernels_n++
    }
    if (!kernels_n) die("no kernel")
    print "extern \"C\" const msl_kernel MSL_KERNELS[] = {\n" table "    {nullptr, nullptr},\n};"
}
