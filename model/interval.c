#include "interval.h"

#include "llama_server.h"

#include <math.h>

/* Relative standard deviation of the wall-clock as far as the card's own points tell: the scatter
 * of each curve's points about it, taken as common to all steps of that phase. Declared rates have
 * no scatter to go by. */
static bool card_spread(const cost *c, const sim_result *sim, double *out) {
    static const term DECLARED[] = {TERM_PREFILL_TOK_S, TERM_DELTA_PREFILL_S,
                                    TERM_DECODE_TOK_S,  TERM_DECODE_GAIN_CARD,
                                    TERM_CONSTANT_S,    TERM_QUEUE_WAIT_IN_WALL};
    enum { FREE_LEAST = 5 };                      /* a median of fewer is no measure of scatter */
    static const double MEDIAN_TO_SIGMA = 1.4826; /* of a normal distribution */
    const decode_curve *d = cost_decode_curve(c);
    const prefill_curve *p = cost_prefill_curve(c);
    for (size_t i = 0; i < sizeof DECLARED / sizeof *DECLARED; i++)
        if (cost_assumes(c, DECLARED[i])) return false;
    if (!d || !p || sim->wall_ns <= 0) return false;
    /* a curve through its points has no scatter, and points that nobody measured have none either
     */
    if (d->free_n < FREE_LEAST || p->free_n < FREE_LEAST) return false;
    if (prov_weakest(cost_prefill_prov(c), cost_decode_prov(c)) > PROV_DERIVED) return false;
    double wall = (double)sim->wall_ns;
    double decode = (double)sim->decode_ns / wall * MEDIAN_TO_SIGMA * d->median_residual_frac;
    double prefill = (double)sim->prefill_ns / wall * MEDIAN_TO_SIGMA * p->median_residual_frac;
    *out = sqrt(decode * decode + prefill * prefill);
    return true;
}

err_code interval_of(const arm *a, const workload *w, const cost *c, const sim_result *sim,
                     wall_interval *out, err *e) {
    static const double Z90 = 1.6448536269514722; /* two-sided 90 % of a normal distribution */
    const host_terms *host = &a->card->fitted_host;
    double spread = 0, server = 0;
    *out = (wall_interval){.from = "scatter of the card's points; host time is not in it"};
    out->known = card_spread(c, sim, &spread);
    if (out->known && a->engine == ENGINE_LLAMA_SERVER && host->known) {
        if (llama_server_wall_spread_frac(a, w, c, host, sim->wall_ns, &server, e)) return e->code;
        spread = sqrt(spread * spread + server * server);
        out->with_host = true;
        out->from = "scatter of the card's points, standard errors of the host terms, spread of "
                    "identical runs";
    }
    out->lo_ns = llround((double)sim->wall_ns * exp(-Z90 * spread));
    int64_t waiting_ns = workload_waiting_ns(w); /* nothing is faster than what is declared */
    if (out->lo_ns < waiting_ns) out->lo_ns = waiting_ns;
    out->hi_ns = llround((double)sim->wall_ns * exp(Z90 * spread));
    return OK;
}

const char *interval_name(size_t by_scatter_n, size_t with_host_n) {
    if (by_scatter_n == 0) return "90 % interval";
    return with_host_n ? "90 % interval or by card scatter" : "90 % by card scatter";
}
