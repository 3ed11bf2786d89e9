/* Any bytes as the output of a benchmark tool: every row is finite and says whether it can be used;
 * a card made of the usable ones loads, or is refused with a reason. Included by a target for each
 * family, which sets FAMILY: the bytes are read as what they look like, and as each of its formats.
 */
#include "fuzz.h"

#include "import.h"

#include <math.h>
#include <string.h>

static void check_rows(const import *in) {
    for (size_t i = 0; i < in->rows_n; i++) {
        const import_row *r = &in->rows[i];
        EXPECT(r->batch_n >= 1 && r->depth_tok >= 0 && r->line >= 1);
        EXPECT(r->n_prompt > 0 || r->n_gen > 0);
        for (size_t k = 0; k < r->samples_n; k++)
            EXPECT(r->samples_s[k] > 0 && isfinite(r->samples_s[k]));
        EXPECT(r->refused || (r->tok_s > 0 && isfinite(r->tok_s)));
    }
    for (size_t i = 0; i < in->errors.n; i++) EXPECT(in->errors.v[i].what[0] != '\0');
}

static void make_card(const import *in, arena *mem) {
    import_card_options o = {.id = "x", .title = "t", .model = "m", .quant = "q", .chip = "c"};
    buf text;
    buf_init(&text);
    err e = {0};
    const card *c = NULL;
    if (import_card_text(in, &o, &text, &e) == OK) {
        file_bytes f = {.name = "x.json", .s = text.s, .len = text.len};
        card_library none = {0};
        err_code code = card_parse(&none, &f, mem, &c, &e);
        EXPECT_ONE_OF(code, c, e);
        EXPECT(code == OK || code == E_RANGE ||
               code == E_LIMIT); /* extreme values, never its form */
    }
    EXPECT(c || e.what[0] != '\0');
    buf_done(&text);
}

static void import_as(const char *text, size_t size, const char *format) {
    arena *mem = arena_new((size_t)64 << 20);
    err e = {0};
    struct import in = import_new(mem, &e);
    file_bytes f = {.name = "<fuzz>", .s = text, .len = size};
    file_sha256_hex(text, size, f.sha256);
    err_code code = import_add(&in, &f, format);
    EXPECT(code == e.code && (code == OK || code == E_LIMIT));
    EXPECT(in.rows_n > 0 || in.records_n > 0 || in.errors.n > 0 || code);
    if (code == OK) {
        check_rows(&in);
        buf out;
        buf_init(&out);
        import_json(&in, &out);
        buf_done(&out);
        make_card(&in, mem);
    }
    arena_free(mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = malloc(size + 1); /* a NUL behind the bytes, as file_read gives */
    if (!text) return 0;
    if (size) memcpy(text, data, size);
    text[size] = '\0';
    import_as(text, size, NULL);
    for (size_t i = 0; FAMILY[i]; i++) import_as(text, size, FAMILY[i]->name);
    free(text);
    return 0;
}
