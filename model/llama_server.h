/* llama-server's own loop as an engine policy (`"engine": "llama-server"`).
 *
 * Modelled, from the server's behaviour seen in witnessed runs:
 *  - one iteration: one row for every decoding slot, then prompt rows in slot order until n_batch
 * is full; one decode call;
 *  - the call runs micro-batches of up to n_ubatch rows. Unified KV: rows in order. Split KV: a
 * micro-batch takes an equal number of rows from each sequence and only consecutive slot numbers,
 * so a 129-token delta beside three decoders is a step of four sequences and then one of 128 rows,
 * and decoders in slots 0, 2, 3 are two steps;
 *  - results come after the whole call; then the server samples slot by slot, and tokens leave slot
 * by slot;
 *  - requests are taken up at the start of an iteration; agent k is pinned to slot k and finds its
 * slot's own prefix;
 *  - unified KV: every sequence scans all used cells, those of idle slots too.
 * Host terms (rates/card.h, fitted by `ratecast fit`) add what the card does not know: sampling,
 * the cost of a new shape and of a changed set of decoding slots, request handling, the client's
 * gap. Without them the device is all there is.
 *
 * Not modelled: more agents than slots, choosing slots by similarity, the RAM prompt cache, context
 * shift, speculation, HTTP back-pressure, a client that competes with the server for its cores.
 */
#ifndef RATECAST_LLAMA_SERVER_H
#define RATECAST_LLAMA_SERVER_H

#include "base/arena.h"
#include "base/err.h"
#include "cost.h"
#include "scenario.h"
#include "sim.h"

/* Like sim_run, for arms with engine llama-server. `host` may be NULL or not known: card only.
 * E_REFUSED: fewer slots than agents. sim_result.other_ns holds the host time; itl has one entry a
 * gap. */
MUST_USE err_code llama_server_run(const arm *a, const workload *w, const cost *c,
                                   const host_terms *host, arena *mem, sim_result *out, err *e);
/* The same run, and the same result, with the device's and the host's time in `device` (NULL: not
 * recorded). */
MUST_USE err_code llama_server_run_recorded(const arm *a, const workload *w, const cost *c,
                                            const host_terms *host, span_list *device, arena *mem,
                                            sim_result *out, err *e);

/* Standard deviation of a projected wall, relative: each host term moved by its standard error, and
 * what identical runs differ by anyway, a share of the time that is not declared waiting. Replays
 * the run once for each term, and twice more where a workload waits. */
MUST_USE err_code llama_server_wall_spread_frac(const arm *a, const workload *w, const cost *c,
                                                const host_terms *host, int64_t wall_ns,
                                                double *out, err *e);

#endif
