# What a kernel is given on the CPU: see ../thunks.awk.
function group_memory() {
    return "b->group_memory"
}
function buffer(at, type) {
    if (type !~ /& *$/) return "(" type ")b->buffer[" at "]"
    sub(/& *$/, "", type)
    return "*(" type "*)b->buffer[" at "]"
}
function position(attribute, type) {
    if (attribute == "thread_position_in_grid") return type ~ /uint3/ ? "three(msl_here()->thread_in_grid)" : "msl_here()->thread_in_grid[0]"
    if (attribute == "threadgroup_position_in_grid") return type ~ /uint3/ ? "three(msl_here()->group)" : "msl_here()->group[0]"
    if (attribute == "thread_index_in_threadgroup") return "msl_here()->index"
    if (attribute == "simdgroup_index_in_threadgroup") return "msl_here()->simd"
    if (attribute == "thread_index_in_simdgroup") return "msl_here()->lane"
}
function begin_all() {
    print "static uint3 three(const uint32_t v[3]) {\n    uint3 r = uint3(v[0]);\n    r.y = v[1];\n    r.z = v[2];\n    return r;\n}"
}
function begin_kernel() {
}
function end_kernel(name, call) {
    print "static void call_" name "(const msl_bindings *b) {\n    " name "(" call ");\n}"
    table = table "    {\"" name "\", call_" name "},\n"
}
function end_all() {
    print "extern \"C\" const msl_kernel MSL_KERNELS[] = {\n" table "    {nullptr, nullptr},\n};"
}
