/* The kernels of kernels.metal as nvcc compiled them: kernels_cuda.cu, which build.sh generates. */
#ifndef RATECAST_BENCH_CUDA_KERNELS_H
#define RATECAST_BENCH_CUDA_KERNELS_H

typedef struct cuda_kernel {
    const char *name;
    const void *run;   /* of cudaLaunchKernel */
    unsigned params_n; /* buffers, and the arguments by value behind them */
} cuda_kernel;
/* Ends with a name of NULL. */
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    const cuda_kernel CUDA_KERNELS[];

#endif
