/* The kernel probe: what a GPU does with the kernels of kernels.metal, and what a model of some
 * shape would take if those were an engine's.
 *
 * A plan first (no device needed), then the run. Times of kernels are measured; a step or a prompt
 * is summed from them: layers x one layer + the output matrix, micro-batch by micro-batch, sample
 * by sample. Units: seconds, bytes, tokens. */
#ifndef RATECAST_BENCH_PROBE_H
#define RATECAST_BENCH_PROBE_H

#include "measure.h"
#include "probe_pass.h"
#include "probe_test.h"

enum { PROBE_GRID_MAX = 16, PROBE_CELLS_MAX = PROBE_GRID_MAX * PROBE_GRID_MAX };

typedef struct probe_grid {
    int64_t at[PROBE_GRID_MAX];
    size_t n;
} probe_grid;

typedef struct probe_plan {
    const model_shape *shape;
    weight_kind kind;
    quant quant;
    bool tiny;
    probe_grid batches, contexts; /* steps, where they fit */
    probe_grid tokens, depths;    /* micro-batches */
    probe_grid lengths;           /* prompts, summed from micro-batches */
    pass_limits limits;
    int64_t budget_bytes, pass_bytes;
    measure_options how;
    double soak_s;
} probe_plan;

/* The shape of --tiny: for tests, no model. */
extern const model_shape PROBE_TINY;

/* `device` NULL: no device is at hand, nothing is left out for memory. E_LIMIT: not even the
 * smallest step fits. E_USAGE: no kernels for the shape or the quantisation. */
MUST_USE err_code probe_plan_make(const gpu_info *device, const model_shape *shape, quant q,
                                  double soak_min, probe_plan *out, err *e);
/* Does a step of that size fit, here and with all layers of the model? */
bool probe_fits(const probe_plan *p, int64_t batch, int64_t context_tok);

/* One kernel alone. `bytes` and `flops` of one item; 0: does not apply. */
typedef struct probe_kernel {
    const char *name, *what;
    double bytes, flops;
    measurement m;
} probe_kernel;

/* One layer of a step (n sequences with keys_tok each) or of a micro-batch (n tokens behind
 * keys_tok); or the output matrix (keys_tok 0). */
typedef struct probe_part {
    int64_t n, keys_tok;
    linear_by by; /* the faster one, where two kernels would do */
    measurement m;
} probe_part;

/* A step or a prompt of the whole model. */
typedef struct probe_cell {
    int64_t n, keys_tok;
    measurement m; /* samples in gpu_s; no wall clock of its own */
} probe_cell;

typedef struct probe_result {
    const probe_plan *plan;
    const gpu_info *device;
    probe_checks checks;
    probe_kernel kernels[PROBE_CELLS_MAX];
    probe_part steps[PROBE_CELLS_MAX], micro[PROBE_CELLS_MAX], outputs[PROBE_GRID_MAX];
    probe_cell decode[PROBE_CELLS_MAX], prefill[PROBE_CELLS_MAX];
    size_t kernels_n, steps_n, micro_n, outputs_n, decode_n, prefill_n;
    double soaked_step_s; /* the first decode cell after plan->soak_s of it; 0: not asked for */
} probe_result;

/* The self-test, and nothing else when a kernel fails it (E_REFUSED; the checks are in the result).
 * Says what it does on standard error when `talk`. The result lives in the arena. */
MUST_USE err_code probe_run(gpu *g, const probe_plan *p, bool talk, arena *mem, probe_result **out,
                            err *e);
/* The least steady of the cells: largest p90 / p10; NULL when there is none. */
const probe_cell *probe_worst(const probe_result *r);

/* Seconds of a prompt of n tokens behind depth_tok, from the layer's micro-batches: sample `i` of
 * each, a depth between two measured ones as a line. NaN: a micro-batch it needs is not there. */
double probe_prompt_s(const probe_part *micro, size_t micro_n, int64_t layers, double output_s,
                      int64_t n, int64_t depth_tok, size_t i);

#endif
