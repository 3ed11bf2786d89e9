/* Any bytes as a packet: refused with a message, or judged by its own rules and as a claim. */
#include "fuzz.h"

#include "audit/audit.h"
#include "audit/packet.h"

#include <math.h>
#include <string.h>

static void check(const packet_check *p) {
    EXPECT(p->valid == (p->n == 0));
    EXPECT(strlen(p->sha256) == 64);
    EXPECT(isfinite(p->gate) && p->gate > 0);
    for (size_t i = 0; i < p->n; i++) EXPECT(p->violations[i].rule[0] && p->violations[i].what[0]);
    EXPECT(!p->valid || p->speedup_ratio >= p->gate);
}

static void check_audit(const audit *a) {
    for (size_t i = 0; i < a->findings_n; i++) {
        EXPECT(a->findings[i].why[0]);
        EXPECT(a->findings[i].outcome != AUDIT_PASS);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static hardware_catalogue none;
    arena *mem = arena_new((size_t)128 << 20);
    char *text = arena_alloc(mem, size + 1, 1);
    if (text) {
        if (size) memcpy(text, data, size);
        file_bytes f = {.name = "<fuzz>", .s = text, .len = size};
        packet_check p;
        audit a;
        err e = {0};
        file_sha256_hex(f.s, f.len, f.sha256);
        err_code code = packet_parse(&f, mem, &p, &e);
        EXPECT(code == e.code);
        EXPECT(code == OK || e.what[0] != '\0');
        if (code == OK) {
            check(&p);
            if (p.claim && audit_claim(p.claim, &none, mem, &a, &e) == OK) check_audit(&a);
        }
    }
    arena_free(mem);
    return 0;
}
