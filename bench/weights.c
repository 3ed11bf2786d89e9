#include "weights.h"

#include <assert.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SIGMA = 0.02;

enum { NORMAL_N = 1 << 16, SCALE_N = 256, TYPES_N = TENSOR_Q6_K + 1 };

struct weights {
    uint64_t seed;
    float normal[NORMAL_N]; /* quantiles of the normal distribution, by 16 random bits */
    uint16_t normal_half[NORMAL_N];
    uint16_t scale[TYPES_N][SCALE_N]; /* halves for d, by 8 random bits; see scale_of */
    uint16_t scale_min[SCALE_N];      /* of Q4_K: 7.5 times its scale */
};

/* IEEE 754 binary16, nearest, ties to even; |v| is below 2^15. */
static uint16_t half_of(double v) {
    uint16_t sign = signbit(v) ? 0x8000 : 0;
    int exponent = 0;
    (void)frexp(v, &exponent);          /* |v| = [0.5, 1) * 2^exponent */
    if (exponent < -13) exponent = -13; /* subnormal: steps of 2^-24 */
    double steps = nearbyint(ldexp(fabs(v), 11 - exponent));
    assert(steps <= 2048 && exponent <= 15);
    /* `steps` counts the hidden bit, which adds one to the exponent field; a carry adds another */
    return (uint16_t)(sign + ((exponent + 13) << 10) + (int)steps);
}

/* Mean square of a block's values at scale 1, for uniformly random quants and, in K-blocks, the
 * scales that fill_q4_k and fill_q6_k draw. */
static double mean_square(tensor_type t) {
    switch (t) {
    case TENSOR_Q4_0:
        return 21.5; /* -8 to 7 */
    case TENSOR_Q5_0:
        return 85.5; /* -16 to 15 */
    case TENSOR_Q8_0:
        return 5418.7; /* -127 to 127 */
    case TENSOR_Q4_K:
        return 21.25 * 2341.5; /* (0 to 15 less 7.5) times 32 to 63 */
    case TENSOR_Q6_K:
        return 341.5 * 9461.5; /* -32 to 31 times 64 to 127 */
    case TENSOR_F32:
    case TENSOR_F16:
        break;
    }
    return 1;
}

/* Around the scale that gives SIGMA: 0.75 to 1.25 of it, whose mean square is 1 + 1/48. */
static double scale_of(tensor_type t, int i) {
    return SIGMA / sqrt(mean_square(t) * 49 / 48) * (0.75 + 0.5 * i / (SCALE_N - 1));
}

weights *weights_new(uint64_t seed) {
    weights *w = malloc(sizeof *w);
    if (!w) return NULL;
    w->seed = seed;
    for (int i = 0; i < NORMAL_N; i++) {
        double v = SIGMA * gsl_cdf_ugaussian_Pinv((i + 0.5) / NORMAL_N);
        w->normal[i] = (float)v;
        w->normal_half[i] = half_of(v);
    }
    for (int i = 0; i < SCALE_N; i++) {
        for (int t = 0; t < TYPES_N; t++) w->scale[t][i] = half_of(scale_of((tensor_type)t, i));
        w->scale_min[i] = half_of(7.5 * scale_of(TENSOR_Q4_K, i));
    }
    return w;
}

void weights_free(weights *w) {
    free(w);
}

static const uint64_t GOLDEN = 0x9E3779B97F4A7C15;

/* Output function of SplitMix64 (Steele, Lea, Flood 2014): word i of a stream is mix(key + i *
 * GOLDEN), so that any place of it is reached at once. */
static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

static void fill_random(uint64_t key, uint64_t first_word, size_t n, uint8_t *out) {
    for (size_t at = 0; at < n; at += 8) {
        uint64_t v = mix(key + (first_word + at / 8 + 1) * GOLDEN);
        for (int b = 0; b < 8; b++) out[at + (size_t)b] = (uint8_t)(v >> (8 * b));
    }
}

static void put16(uint8_t *at, uint16_t v) {
    at[0] = (uint8_t)v;
    at[1] = (uint8_t)(v >> 8);
}

/* The following take random bytes and make them blocks: only what would be a bad scale is replaced,
 * by what its own bits choose. */

/* d is the first half of the block. Its sign is random as in real files: quants reach further down
 * than up, and all blocks together have to have mean 0. */
static void fill_signed(const uint16_t *scale, size_t block, size_t n, uint8_t *out) {
    for (size_t at = 0; at < n; at += block)
        put16(out + at, scale[out[at]] | (uint16_t)((out[at + 1] & 0x80) << 8));
}

static void fill_q8_0(const uint16_t *scale, size_t block, size_t n, uint8_t *out) {
    for (size_t at = 0; at < n; at += block) {
        put16(out + at, scale[out[at]]);
        /* no quantiser writes -128, and kernels may count on that */
        for (size_t i = 2; i < block; i++) out[at + i] = out[at + i] == 0x80 ? 0x81 : out[at + i];
    }
}

/* d, dmin, 12 bytes of eight 6-bit scales and mins, 256 quants: w = d * scale * q - dmin * min.
 * With min = scale (32 to 63) and dmin = 7.5 d the mean is 0. Bytes 0-3 hold the low scales (and
 * two high bits of the later ones), 4-7 the same of the mins, 8-11 the low bits of both. */
static void fill_q4_k(const weights *w, size_t block, size_t n, uint8_t *out) {
    for (size_t at = 0; at < n; at += block) {
        uint8_t *b = out + at, *packed = b + 4;
        uint8_t which = b[0];
        put16(b, w->scale[TENSOR_Q4_K][which]);
        put16(b + 2, w->scale_min[which]);
        for (int j = 0; j < 4; j++) {
            packed[j] |= 0xA0;
            packed[j + 4] = packed[j];
            packed[j + 8] = (uint8_t)((packed[j + 8] & 0x0F) * 0x11);
        }
    }
}

/* 128 + 64 bytes of quants, 16 signed scales, d: w = d * scale * (q - 32). Scales are +-64 to 127.
 */
static void fill_q6_k(const uint16_t *scale, size_t block, size_t n, uint8_t *out) {
    enum { SCALES = 192, D = 208 };
    for (size_t at = 0; at < n; at += block) {
        uint8_t *b = out + at;
        for (int j = SCALES; j < D; j++) {
            int size = 64 | (b[j] & 0x3F);
            b[j] = (uint8_t)(b[j] & 0x80 ? -size : size);
        }
        put16(b + D, scale[b[D]]);
    }
}

static void fill_f16(const weights *w, size_t n, uint8_t *out) {
    for (size_t at = 0; at < n; at += 2)
        put16(out + at, w->normal_half[out[at] | out[at + 1] << 8]);
}

static void fill_f32(const weights *w, bool norm, size_t n, uint8_t *out) {
    for (size_t at = 0; at < n; at += 4) {
        float v = norm ? 1.0F : w->normal[out[at] | out[at + 1] << 8];
        uint32_t bits;
        memcpy(&bits, &v, sizeof bits);
        put16(out + at, (uint16_t)bits);
        put16(out + at + 2, (uint16_t)(bits >> 16));
    }
}

void weights_fill(const weights *w, const shape_tensor *t, size_t index, int64_t from, size_t n,
                  uint8_t *out) {
    size_t block = (size_t)TENSOR_FORMATS[t->type].block_bytes;
    assert(from % 8 == 0 && (size_t)from % block == 0 && n % block == 0);
    fill_random(mix(mix(w->seed + GOLDEN) + index), (uint64_t)from / 8, n, out);
    switch (t->type) {
    case TENSOR_F32:
        fill_f32(w, strstr(t->name, "norm") != NULL, n, out);
        break;
    case TENSOR_F16:
        fill_f16(w, n, out);
        break;
    case TENSOR_Q4_0:
    case TENSOR_Q5_0:
        fill_signed(w->scale[t->type], block, n, out);
        break;
    case TENSOR_Q8_0:
        fill_q8_0(w->scale[t->type], block, n, out);
        break;
    case TENSOR_Q4_K:
        fill_q4_k(w, block, n, out);
        break;
    case TENSOR_Q6_K:
        fill_q6_k(w->scale[t->type], block, n, out);
        break;
    }
}
