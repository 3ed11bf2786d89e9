# What a kernel is given on an NVIDIA GPU: see ../thunks.awk. The parameters of a __global__ function are the buffers in their
# order and the arguments, by value, behind them.
function group_memory() {
    return "group_memory"
}
function buffer(at, type) {
    if (at + 0 != buffers_n++) die("buffers out of order")
    sub(/& *$/, "", type)
    sub(/\* *$/, "*__restrict__ ", type) # no dispatch has one buffer twice
    parameters = parameters (buffers_n > 1 ? ", " : "") type "b" at
    return "b" at
}
function position(attribute, type) {
    if (attribute == "thread_position_in_grid" && type !~ /uint3/) return "blockIdx.x * blockDim.x + threadIdx.x"
    if (attribute == "threadgroup_position_in_grid") return type ~ /uint3/ ? "blockIdx" : "blockIdx.x"
    if (attribute == "thread_index_in_threadgroup") return "threadIdx.x"
    if (attribute == "simdgroup_index_in_threadgroup") return "threadIdx.x / 32"
    if (attribute == "thread_index_in_simdgroup") return "threadIdx.x % 32"
}
function begin_all() {
    print "extern __shared__ float4 group_memory[];"
}
function begin_kernel() {
    parameters = ""
    buffers_n = 0
}
function end_kernel(name, call) {
    print "static __global__ void run_" name "(" parameters ") {\n    " name "(" call ");\n}"
    table = table "    {\"" name "\", (const void *)run_" name ", " buffers_n "},\n"
}
function end_all() {
    print "extern \"C\" const cuda_kernel CUDA_KERNELS[] = {\n" table "    {nullptr, nullptr, 0},\n};"
}
