/* GPU threads on the CPU: the threads of one group are fibers of one thread of the CPU.
 *
 * A fiber runs until it reaches a barrier or an operation of its SIMD group, then another one runs.
 * Which SIMD group goes on is drawn at random, from a seed: whatever a kernel leaves without a
 * barrier happens in some other order. An operation is done when all lanes of the SIMD group have
 * come to it. Threadgroup memory starts as bytes of 0xAA.
 *
 * A kernel that no GPU could run ends the process (abort), with one line on standard error: "simd
 * op after some lanes returned", "deadlock: 64 of 128 at a barrier", lanes at different operations.
 *
 * Not thread-safe: what runs is one group, in static memory, because code in a kernel has nothing
 * to ask but its own position. */
#ifndef RATECAST_BENCH_MSL_FIBERS_H
#define RATECAST_BENCH_MSL_FIBERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { MSL_BINDINGS_MAX = 16, MSL_GROUP_MAX = 1024, MSL_SIMD_N = 32 };

typedef struct msl_bindings {
    void *buffer[MSL_BINDINGS_MAX]; /* by index; the arguments too */
    void *group_memory;
} msl_bindings;

/* One kernel; MSL_KERNELS is generated from kernels.metal and ends with a name of NULL. */
typedef struct msl_kernel {
    const char *name;
    void (*run)(const msl_bindings *b);
} msl_kernel;
extern const msl_kernel MSL_KERNELS[];

typedef struct msl_launch {
    const msl_kernel *kernel;
    msl_bindings bindings; /* group_memory is set by the run */
    size_t group_memory_bytes;
    uint32_t groups[3], group[3]; /* thread groups, threads of a group */
    uint64_t seed;
} msl_launch;

void msl_run(const msl_launch *l);

/* ---- asked by the kernel that runs ---- */

typedef struct msl_position {
    uint32_t thread_in_grid[3], thread_in_group[3], group[3];
    uint32_t index, lane, simd; /* in the group, in the SIMD group; of the SIMD group */
} msl_position;

const msl_position *msl_here(void);
void msl_barrier(void);
void msl_simd_barrier(void);
float msl_simd_sum(float v);
float msl_simd_max(float v);
/* d = a . b + c for 8 x 8 matrices, two elements a lane: row lane / 4, columns 2 * (lane % 4) +
 * 0, 1. */
void msl_simd_multiply(float d[2], const float a[2], const float b[2], const float c[2]);

#ifdef __cplusplus
}
#endif

#endif
