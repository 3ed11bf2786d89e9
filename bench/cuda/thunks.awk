# Makes, from kernels.metal, a __global__ function for each kernel that calls it with what its [[attributes]] ask for,
# and the table of all: usage: awk -f thunks.awk kernels.metal. Fails on an attribute that it does not know.
# The parameters of a __global__ function are the buffers in their order and the arguments, by value, behind them.
function die(what) {
    print "thunks.awk: " name ": " what | "cat >&2"
    failed = 1
    exit 1
}
function argument(p, type, attribute, at) {
    gsub(/^[ ]+|[ ]+$/, "", p)
    if (p ~ /GROUP_MEMORY\(0\)$/) {
        sub(/[A-Za-z_0-9]+ *GROUP_MEMORY\(0\)$/, "", p)
        return "(" p ")group_memory"
    }
    if (!match(p, /\[\[.*\]\]$/)) die("no attribute: " p)
    attribute = substr(p, RSTART + 2, RLENGTH - 4)
    type = substr(p, 1, RSTART - 1)
    sub(/[A-Za-z_0-9]+ *$/, "", type) # the name
    if (match(attribute, /^buffer\([0-9]+\)$/)) {
        at = substr(attribute, 8, length(attribute) - 8)
        if (at + 0 != buffers_n++) die("buffers out of order")
        sub(/& *$/, "", type)
        sub(/\* *$/, "*__restrict__ ", type) # no dispatch has one buffer twice
        parameters = parameters (buffers_n > 1 ? ", " : "") type "b" at
        return "b" at
    }
    if (attribute == "thread_position_in_grid" && type !~ /uint3/) return "blockIdx.x * blockDim.x + threadIdx.x"
    if (attribute == "threadgroup_position_in_grid") return type ~ /uint3/ ? "blockIdx" : "blockIdx.x"
    if (attribute == "thread_index_in_threadgroup") return "threadIdx.x"
    if (attribute == "simdgroup_index_in_threadgroup") return "threadIdx.x / 32"
    if (attribute == "thread_index_in_simdgroup") return "threadIdx.x % 32"
    die("unknown attribute " attribute)
}
{
    sub(/\/\/.*/, "")
    text = text " " $0
}
END {
    if (failed) exit 1
    print "extern __shared__ float4 group_memory[];"
    while (match(text, /kernel void [a-z_0-9A-Z]+\(/)) {
        name = substr(text, RSTART + 12, RLENGTH - 13)
        text = substr(text, RSTART + RLENGTH)
        close_at = index(text, "{")
        list = substr(text, 1, close_at - 1)
        sub(/\) *$/, "", list)
        n = split(list, parameter, ",")
        call = parameters = ""
        buffers_n = 0
        for (i = 1; i <= n; i++) call = call (i > 1 ? ",\n        " : "") argument(parameter[i])
        if (failed) exit 1
        print "static __global__ void run_" name "(" parameters ") {\n    " name "(" call ");\n}"
        table = table "    {\"" name "\", (const void *)run_" name ", " buffers_n "},\n"
        kernels_n++
    }
    if (!kernels_n) die("no kernel")
    print "extern \"C\" const cuda_kernel CUDA_KERNELS[] = {\n" table "    {nullptr, nullptr, 0},\n};"
}
