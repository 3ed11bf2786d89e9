#include "reference.h"

#include <math.h>
#include <string.h>

const char *const WEIGHT_NAMES[] = {"f16", "q8_0", "q4_0", NULL};

static const size_t BLOCK_BYTES[] = {64, 34, 18};

size_t weight_row_bytes(weight_kind kind, size_t cols) {
    return cols / BLOCK_N * BLOCK_BYTES[kind];
}

double half_value(uint16_t bits) {
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double v = exponent == 31  ? (fraction ? (double)NAN : (double)INFINITY)
               : exponent == 0 ? ldexp(fraction, -24)
                               : ldexp(1024 + fraction, exponent - 25);
    return bits & 0x8000 ? -v : v;
}

static double half_at(const unsigned char *p) {
    uint16_t bits;
    memcpy(&bits, p, sizeof bits);
    return half_value(bits);
}

double weight_value(weight_kind kind, const void *row, size_t col) {
    const unsigned char *block = (const unsigned char *)row + col / BLOCK_N * BLOCK_BYTES[kind];
    size_t at = col % BLOCK_N;
    if (kind == WEIGHT_F16) return half_at(block + 2 * at);
    if (kind == WEIGHT_Q8_0) return half_at(block) * (int8_t)block[2 + at];
    int nibble = at < 16 ? block[2 + at] & 15 : block[2 + at - 16] >> 4;
    return half_at(block) * (nibble - 8);
}

void reference_linear(weight_kind kind, const void *weights, const float *x, const linear_args *a,
                      double *y, double *size) {
    size_t row_bytes = weight_row_bytes(kind, a->cols_n);
    for (size_t c = 0; c < a->columns_n; c++)
        for (size_t r = 0; r < a->rows_n; r++) {
            const unsigned char *row = (const unsigned char *)weights + r * row_bytes;
            double sum = 0, all = 0;
            for (size_t k = 0; k < a->cols_n; k++) {
                double term = weight_value(kind, row, k) * (double)x[c * a->cols_n + k];
                sum += term;
                all += fabs(term);
            }
            y[c * a->rows_n + r] = sum;
            size[c * a->rows_n + r] = all;
        }
}

double reference_fma(const fma_args *a, uint32_t thread, double *size) {
    double sum = 0;
    *size = 0;
    for (int c = 0; c < FMA_CHAINS; c++) {
        double x = thread * (double)a->start + c;
        for (uint32_t i = 0; i < a->steps_n; i++) x = x * (double)a->factor + (double)a->addend;
        sum += x;
        *size += fabs(x);
    }
    return sum;
}

/* One query against the keys of its KV head; D values. */
static void attend(const float *q, const uint16_t *k, const uint16_t *v, const attention_args *a,
                   double *out, double *size) {
    double top = -HUGE_VAL, sum = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t key = 0; key < a->keys_n; key++) {
            double score = 0;
            for (size_t i = 0; i < a->head_dim; i++)
                score += (double)q[i] * half_value(k[key * a->head_dim + i]);
            score *= (double)a->scale;
            if (pass == 0) top = fmax(top, score);
            if (pass == 0) continue;
            double weight = exp(score - top);
            sum += weight;
            for (size_t i = 0; i < a->head_dim; i++) {
                double term = weight * half_value(v[key * a->head_dim + i]);
                out[i] += term;
                size[i] += fabs(term);
            }
        }
    for (size_t i = 0; i < a->head_dim; i++) {
        out[i] /= sum;
        size[i] /= sum;
    }
}

void reference_attention(const float *q, const uint16_t *k, const uint16_t *v,
                         const attention_args *a, size_t sequences_n, double *out, double *size) {
    size_t ratio = a->heads_n / a->kv_heads_n, n = sequences_n * a->heads_n;
    memset(out, 0, n * a->head_dim * sizeof *out);
    memset(size, 0, n * a->head_dim * sizeof *size);
    for (size_t h = 0; h < n; h++) {
        size_t sequence = h / a->heads_n, kv_head = h % a->heads_n / ratio;
        size_t cache = (sequence * a->kv_heads_n + kv_head) * a->keys_n * a->head_dim;
        size_t at = h * a->head_dim;
        attend(q + at, k + cache, v + cache, a, out + at, size + at);
    }
}

void reference_softmax(const float *scores, const softmax_args *a, size_t row, double *out) {
    const float *from = scores + row * a->keys_n;
    size_t seen = a->depth_tok + row / a->ratio_n + 1;
    double top = -HUGE_VAL, sum = 0;
    if (seen > a->keys_n) seen = a->keys_n;
    for (size_t i = 0; i < seen; i++) top = fmax(top, (double)from[i]);
    for (size_t i = 0; i < seen; i++) sum += exp(((double)from[i] - top) * (double)a->scale);
    for (size_t i = 0; i < a->keys_n; i++)
        out[i] = i < seen ? exp(((double)from[i] - top) * (double)a->scale) / sum : 0;
}
