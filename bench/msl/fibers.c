/* Contexts of ucontext start a fiber; switches after that are jumps, which cost no system call. */
#undef _FORTIFY_SOURCE /* its longjmp refuses to leave a stack */
#include "fibers.h"

#include <stdarg.h>
#include <stdbool.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#ifdef __APPLE__
#pragma clang diagnostic ignored "-Wdeprecated-declarations" /* ucontext: there is nothing else */
#endif

enum { STACK_BYTES = 64 << 10, SIMDS_MAX = MSL_GROUP_MAX / MSL_SIMD_N };

/* The jumps of the compiler itself are not intercepted by sanitizers, which take a jump between
 * stacks for an error; not every compiler has them for other machines. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(MSL_PLAIN_JUMPS)
typedef void *jump[5];
#define JUMP_SET(at) __builtin_setjmp(at)
#define JUMP_TO(at) __builtin_longjmp(at, 1)
#else
typedef jmp_buf jump;
#define JUMP_SET(at) _setjmp(at)
#define JUMP_TO(at) _longjmp(at, 1)
#endif

typedef enum state { READY, AT_BARRIER, AT_SIMD, RETURNED, STATES_N } state;
typedef enum simd_op { OP_BARRIER, OP_SUM, OP_MAX, OP_MULTIPLY } simd_op;

typedef struct fiber {
    jump at;
    ucontext_t start;
    void *stack; /* kept from group to group */
    bool started;
    state state;
    simd_op op;
    float value; /* of a sum or maximum: in, then out */
    float *d;    /* of a product */
    const float *a, *b, *c;
    msl_position here;
} fiber;

static fiber fibers[MSL_GROUP_MAX];
static fiber *current;
static const msl_launch *launch;
static msl_bindings bindings;
static jump scheduler;
static uint64_t random_state;

static _Noreturn void misuse(const char *what, ...) __attribute__((format(printf, 1, 2)));

static _Noreturn void misuse(const char *what, ...) {
    va_list values;
    fprintf(stderr, "kernel %s: ", launch->kernel->name);
    va_start(values, what);
    vfprintf(stderr, what, values);
    va_end(values);
    fputc('\n', stderr);
    abort();
}

static uint32_t draw(uint32_t n) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)((random_state >> 32) % n);
}

/* ---- switching ---- */

static __attribute__((noinline)) _Noreturn void jump_out(void) {
    JUMP_TO(scheduler);
}

static __attribute__((noinline)) _Noreturn void jump_in(fiber *f) {
    JUMP_TO(f->at);
}

/* The fiber that runs stops here until the scheduler takes it up again. */
static __attribute__((noinline)) void stop(state s) {
    current->state = s;
    if (!JUMP_SET(current->at)) jump_out();
}

static void fiber_main(void) {
    for (;;) {
        launch->kernel->run(&bindings);
        stop(RETURNED);
    }
}

static __attribute__((noinline)) _Noreturn void begin(fiber *f) {
    f->started = true;
    setcontext(&f->start);
    abort();
}

static __attribute__((noinline)) void resume(fiber *f) {
    current = f;
    if (JUMP_SET(scheduler)) return;
    if (f->started) jump_in(f);
    begin(f);
}

static void prepare(fiber *f) {
    if (f->stack) return;
    f->stack = malloc(STACK_BYTES);
    if (!f->stack || getcontext(&f->start)) abort();
    f->start.uc_stack.ss_sp = f->stack;
    f->start.uc_stack.ss_size = STACK_BYTES;
    f->start.uc_link = NULL;
    makecontext(&f->start, fiber_main, 0);
}

/* ---- operations of a SIMD group: all lanes have come ---- */

static void multiply(fiber *lanes) {
    float a[8][8], b[8][8];
    for (int i = 0; i < MSL_SIMD_N; i++)
        for (int j = 0; j < 2; j++) {
            a[i / 4][i % 4 * 2 + j] = lanes[i].a[j];
            b[i / 4][i % 4 * 2 + j] = lanes[i].b[j];
        }
    for (int i = 0; i < MSL_SIMD_N; i++)
        for (int j = 0; j < 2; j++) {
            float sum = lanes[i].c[j];
            for (int k = 0; k < 8; k++) sum += a[i / 4][k] * b[k][i % 4 * 2 + j];
            lanes[i].d[j] = sum;
        }
}

static void operate(fiber *lanes, int n) {
    float v = lanes[0].value;
    for (int i = 1; i < n; i++) {
        if (lanes[i].op != lanes[0].op) misuse("lanes at different simd ops");
        if (lanes[0].op == OP_SUM) v += lanes[i].value;
        if (lanes[0].op == OP_MAX && lanes[i].value > v) v = lanes[i].value;
    }
    if (lanes[0].op == OP_MULTIPLY) {
        if (n < MSL_SIMD_N)
            misuse("matrix product in a simd group of %d lanes, not %d", n, MSL_SIMD_N);
        multiply(lanes);
    }
    for (int i = 0; i < n; i++) {
        lanes[i].value = v;
        lanes[i].state = READY;
    }
}

/* ---- scheduling ---- */

static void count_states(const fiber *f, int n, int count[STATES_N]) {
    memset(count, 0, STATES_N * sizeof *count);
    for (int i = 0; i < n; i++) count[f[i].state]++;
}

/* Lanes start from a random one: no lane may count on what another has just stored. */
static void run_simd(fiber *lanes, int n) {
    int count[STATES_N], first = (int)draw((uint32_t)n);
    for (int i = 0; i < n; i++) {
        fiber *f = &lanes[(first + i) % n];
        if (f->state == READY) resume(f);
    }
    count_states(lanes, n, count);
    if (count[AT_SIMD] == 0) return;
    if (count[RETURNED] > 0)
        misuse("simd op after some lanes returned: %d of %d", count[RETURNED], n);
    if (count[AT_BARRIER] > 0)
        misuse("simd op while some lanes are at a barrier: %d of %d", count[AT_BARRIER], n);
    operate(lanes, n);
}

static void run_group(int n) {
    int simds_n = (n + MSL_SIMD_N - 1) / MSL_SIMD_N;
    for (;;) {
        int ready[SIMDS_MAX], ready_n = 0, count[STATES_N];
        for (int s = 0; s < simds_n; s++) {
            int lanes_n = n - s * MSL_SIMD_N < MSL_SIMD_N ? n - s * MSL_SIMD_N : MSL_SIMD_N;
            count_states(fibers + s * MSL_SIMD_N, lanes_n, count);
            if (count[READY] > 0) ready[ready_n++] = s;
        }
        if (ready_n > 0) {
            int s = ready[draw((uint32_t)ready_n)];
            int lanes_n = n - s * MSL_SIMD_N < MSL_SIMD_N ? n - s * MSL_SIMD_N : MSL_SIMD_N;
            run_simd(fibers + s * MSL_SIMD_N, lanes_n);
            continue;
        }
        count_states(fibers, n, count);
        if (count[RETURNED] == n) return;
        if (count[AT_BARRIER] < n) misuse("deadlock: %d of %d at a barrier", count[AT_BARRIER], n);
        for (int i = 0; i < n; i++) fibers[i].state = READY;
    }
}

static void place(uint32_t group_at, uint32_t n) {
    const uint32_t *g = launch->groups, *t = launch->group;
    uint32_t group[3] = {group_at % g[0], group_at / g[0] % g[1], group_at / g[0] / g[1]};
    for (uint32_t i = 0; i < n; i++) {
        msl_position *p = &fibers[i].here;
        uint32_t inside[3] = {i % t[0], i / t[0] % t[1], i / t[0] / t[1]};
        for (int a = 0; a < 3; a++) {
            p->group[a] = group[a];
            p->thread_in_group[a] = inside[a];
            p->thread_in_grid[a] = group[a] * t[a] + inside[a];
        }
        p->index = i;
        p->lane = i % MSL_SIMD_N;
        p->simd = i / MSL_SIMD_N;
        fibers[i].state = READY;
    }
}

void msl_run(const msl_launch *l) {
    uint32_t n = l->group[0] * l->group[1] * l->group[2];
    uint32_t groups_n = l->groups[0] * l->groups[1] * l->groups[2];
    launch = l;
    if (n == 0 || n > MSL_GROUP_MAX)
        misuse("%d threads in a group, at most %d", (int)n, MSL_GROUP_MAX);
    bindings = l->bindings;
    bindings.group_memory = l->group_memory_bytes ? malloc(l->group_memory_bytes) : NULL;
    if (l->group_memory_bytes && !bindings.group_memory) abort();
    random_state = l->seed * 0x9E3779B97F4A7C15u + 0x2545F4914F6CDD1Du;
    if (random_state == 0) random_state = 1;
    for (uint32_t i = 0; i < n; i++) prepare(&fibers[i]);
    uint32_t first = groups_n ? draw(groups_n) : 0;
    for (uint32_t i = 0; i < groups_n; i++) {
        if (bindings.group_memory) memset(bindings.group_memory, 0xAA, l->group_memory_bytes);
        place((first + i) % groups_n, n);
        run_group((int)n);
    }
    free(bindings.group_memory);
}

/* ---- asked by the kernel ---- */

const msl_position *msl_here(void) {
    return &current->here;
}

void msl_barrier(void) {
    stop(AT_BARRIER);
}

static float simd_op_of(simd_op op, float v) {
    current->op = op;
    current->value = v;
    stop(AT_SIMD);
    return current->value;
}

void msl_simd_barrier(void) {
    (void)simd_op_of(OP_BARRIER, 0);
}

float msl_simd_sum(float v) {
    return simd_op_of(OP_SUM, v);
}

float msl_simd_max(float v) {
    return simd_op_of(OP_MAX, v);
}

void msl_simd_multiply(float d[2], const float a[2], const float b[2], const float c[2]) {
    current->d = d;
    current->a = a;
    current->b = b;
    current->c = c;
    (void)simd_op_of(OP_MULTIPLY, 0);
}
