// What the host's tests run on the double; tiny_kernels.c does the same in C.
#include <metal_stdlib>
#include "kernels.h"

using namespace metal;

kernel void tiny_copy(device const uint *in [[buffer(0)]],
                      device uint *out [[buffer(1)]],
                      uint thread_at [[thread_position_in_grid]]) {
    out[thread_at] = in[thread_at];
}

kernel void tiny_add(device uint *out [[buffer(0)]],
                     constant uint *args [[buffer(1)]], // begin, addend
                     uint thread_at [[thread_position_in_grid]]) {
    out[thread_at + args[0]] += args[1];
}

kernel void tiny_group_sum(device const uint *in [[buffer(0)]],
                           device uint *out [[buffer(1)]],
                           threadgroup uint *memory [[threadgroup(0)]],
                           uint thread_at [[thread_position_in_grid]],
                           uint lane [[thread_index_in_threadgroup]],
                           uint group [[threadgroup_position_in_grid]],
                           uint group_n [[threads_per_threadgroup]]) {
    memory[lane] = in[thread_at];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane > 0) return;
    uint sum = 0;
    for (uint i = 0; i < group_n; i++) sum += memory[i];
    out[group] = sum;
}

kernel void tiny_overrun(device uint *out [[buffer(0)]], constant uint *at [[buffer(1)]]) {
    out[at[0]] = 1;
}
