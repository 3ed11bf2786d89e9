/* A double of the CUDA runtime: what gpu_cuda.c calls of it, with the kernels as msl/ runs them.
 * Device memory is memory of its own, behind addresses that are none of the host's; a stream runs
 * at once. */
#include "cuda/cuda_kernels.h"
#include "msl/fibers.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { KERNELS_N = 64, NODES_N = 1 << 14, PARAMS_N = 9, ARGS_BYTES = 256 };

static unsigned buffers_of(const char *name) {
    if (strncmp(name, "attention_part", 14) == 0) return 5;
    if (strncmp(name, "gemv", 4) == 0 || strncmp(name, "matmul", 6) == 0) return 4;
    if (strcmp(name, "fma_chains") == 0 || strcmp(name, "empty_kernel") == 0 ||
        strcmp(name, "softmax_causal") == 0)
        return 2;
    return 3;
}
cuda_kernel CUDA_KERNELS_MADE[KERNELS_N];
__attribute__((constructor)) static void make(void) {
    for (size_t i = 0; MSL_KERNELS[i].name; i++)
        CUDA_KERNELS_MADE[i] =
            (cuda_kernel){MSL_KERNELS[i].name, &MSL_KERNELS[i], buffers_of(MSL_KERNELS[i].name)};
}

/* Device memory may only be touched here: elsewhere it is no address. */
typedef struct block {
    char *at;
    size_t n;
    struct block *next;
} block;
static block *blocks;
static void open_all(int prot) {
    for (block *b = blocks; b; b = b->next) mprotect(b->at, b->n, prot);
}
cudaError_t cudaMalloc(void **p, size_t n) {
    block *b = malloc(sizeof *b);
    b->n = (n + 8191) / 4096 * 4096;
    b->at = mmap(NULL, b->n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(b->at, 0xAA, b->n);
    mprotect(b->at, b->n, PROT_NONE);
    b->next = blocks;
    blocks = b;
    *p = b->at;
    return cudaSuccess;
}
cudaError_t cudaFree(void *p) {
    for (block **b = &blocks; *b; b = &(*b)->next)
        if ((*b)->at == p) {
            block *gone = *b;
            *b = gone->next;
            munmap(gone->at, gone->n);
            free(gone);
            return cudaSuccess;
        }
    fprintf(stderr, "double: freed what is not allocated\n");
    abort();
}
cudaError_t cudaMemset(void *p, int v, size_t n) {
    open_all(PROT_READ | PROT_WRITE);
    memset(p, v, n);
    open_all(PROT_NONE);
    return cudaSuccess;
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t n, enum cudaMemcpyKind k) {
    (void)k;
    open_all(PROT_READ | PROT_WRITE);
    memcpy(to, from, n);
    open_all(PROT_NONE);
    return cudaSuccess;
}

typedef struct node {
    const msl_kernel *kernel; /* NULL: an event */
    double *event;
    void *buffers[PARAMS_N];
    unsigned char args[ARGS_BYTES];
    unsigned params_n;
    size_t memory;
    dim3 grid, block;
} node;
typedef struct list {
    node *nodes;
    size_t n;
} list;
static list *capturing;
long launches_n, graphs_n, graph_launches_n;

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static void run_node(node *x) {
    if (!x->kernel) {
        *x->event = now();
        return;
    }
    _Alignas(16) unsigned char args[ARGS_BYTES];
    memcpy(args, x->args, sizeof args);
    msl_launch l = {
        .kernel = x->kernel, .group_memory_bytes = x->memory, .seed = (uint64_t)launches_n++};
    for (unsigned i = 0; i + 1 < x->params_n; i++) l.bindings.buffer[i] = x->buffers[i];
    l.bindings.buffer[x->params_n - 1] = args;
    l.groups[0] = x->grid.x, l.groups[1] = x->grid.y, l.groups[2] = x->grid.z;
    l.group[0] = x->block.x, l.group[1] = x->block.y, l.group[2] = x->block.z;
    open_all(PROT_READ | PROT_WRITE);
    msl_run(&l);
    open_all(PROT_NONE);
}
static cudaError_t take(node *x) {
    if (!capturing)
        run_node(x);
    else
        capturing->nodes[capturing->n++] = *x;
    return cudaSuccess;
}
cudaError_t cudaLaunchKernel(const void *f, dim3 g, dim3 b, void **a, size_t m, cudaStream_t s) {
    node x = {.kernel = f, .memory = m, .grid = g, .block = b};
    (void)s;
    x.params_n = buffers_of(x.kernel->name);
    for (unsigned i = 0; i + 1 < x.params_n; i++) x.buffers[i] = *(void **)a[i];
    memcpy(x.args, a[x.params_n - 1], 24); /* no more than the largest arguments */
    return take(&x);
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s) {
    (void)s;
    return take(&(node){.event = (double *)e});
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t e, cudaStream_t s, unsigned f) {
    if (!capturing || f != cudaEventRecordExternal) return cudaErrorInvalidValue;
    return cudaEventRecord(e, s);
}
cudaError_t cudaEventCreate(cudaEvent_t *e) {
    *e = calloc(1, sizeof(double));
    return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t e) {
    free(e);
    return cudaSuccess;
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t a, cudaEvent_t b) {
    *ms = (float)(1e3 * (*(double *)b - *(double *)a));
    return cudaSuccess;
}
cudaError_t cudaStreamCreate(cudaStream_t *s) {
    *s = calloc(1, 1);
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t s) {
    free(s);
    return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s) {
    (void)s;
    return cudaSuccess;
}
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode m) {
    (void)s, (void)m;
    capturing = calloc(1, sizeof *capturing);
    capturing->nodes = calloc(NODES_N, sizeof(node));
    return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *g) {
    (void)s;
    *g = (cudaGraph_t)capturing;
    capturing = NULL;
    return cudaSuccess;
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t g, unsigned long long f) {
    list *from = (list *)g, *l = calloc(1, sizeof *l);
    (void)f;
    l->n = from->n;
    l->nodes = calloc(l->n, sizeof(node));
    memcpy(l->nodes, from->nodes, l->n * sizeof(node));
    graphs_n++;
    *x = (cudaGraphExec_t)l;
    return cudaSuccess;
}
static cudaError_t drop(list *l) {
    free(l->nodes);
    free(l);
    return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t g) {
    return drop((list *)g);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t g) {
    return drop((list *)g);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t g, cudaStream_t s) {
    (void)g, (void)s;
    return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t g, cudaStream_t s) {
    list *l = (list *)g;
    (void)s;
    graph_launches_n++;
    for (size_t i = 0; i < l->n; i++) run_node(&l->nodes[i]);
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *f) {
    (void)f;
    memset(a, 0, sizeof *a);
    a->maxThreadsPerBlock = 1024;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int d) {
    (void)d;
    memset(p, 0, sizeof *p);
    strcpy(p->name, "Fake CUDA (CPU)");
    p->warpSize = 32;
    p->maxThreadsPerBlock = 1024;
    p->sharedMemPerBlock = 48 << 10;
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *f, size_t *a) {
    *f = *a = (size_t)1 << 30;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *n) {
    *n = 1;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int d) {
    (void)d;
    return cudaSuccess;
}
cudaError_t cudaGetLastError(void) {
    return cudaSuccess;
}
const char *cudaGetErrorString(cudaError_t c) {
    (void)c;
    return "an error";
}
const char *cudaGetErrorName(cudaError_t c) {
    (void)c;
    return "cudaErrorDouble";
}
__attribute__((destructor)) static void tell(void) {
    if (getenv("CUDART_DOUBLE_TELL"))
        fprintf(stderr,
                "double: %ld launches, %ld graphs, %ld launches of graphs, blocks left: %s\n",
                launches_n, graphs_n, graph_launches_n, blocks ? "some" : "none");
}
