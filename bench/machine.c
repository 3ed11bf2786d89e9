#include "machine.h"

#include "process.h"

#include "base/file.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 512 };
static const double ASK_S = 30;

/* ---- memory ---- */

/* "  CUDA0: NVIDIA H200 (143155 MiB, 142000 MiB free)" */
static int64_t device_bytes(const char *line, char *name, size_t cap) {
    const char *colon = strstr(line, ": "), *open = NULL;
    for (const char *p = line; (p = strchr(p, '(')); p++) open = p;
    long long all = 0, left = 0;
    char unit[8] = "";
    if (!colon || !open || open < colon ||
        sscanf(open, "(%lld MiB, %lld MiB %7[a-z]", &all, &left, unit) != 3 ||
        strcmp(unit, "free") != 0 || left <= 0 || left > 1LL << 30)
        return 0;
    snprintf(name, cap, "%.*s", (int)(open - colon - 2), colon + 2);
    name[strlen(name) - (strlen(name) && name[strlen(name) - 1] == ' ')] = '\0';
    return left << 20;
}

int64_t machine_devices_bytes(const char *text, arena *mem, const char **name) {
    int64_t bytes = 0;
    char line[LINE_MAX_LEN], first[LINE_MAX_LEN];
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, p);
        char found[LINE_MAX_LEN];
        int64_t b = device_bytes(line, found, sizeof found);
        if (b > 0 && bytes == 0) snprintf(first, sizeof first, "%s", found);
        bytes += b;
        p += n + (p[n] == '\n');
    }
    if (name) *name = bytes ? arena_strdup(mem, first) : NULL;
    return bytes;
}

static int64_t host_bytes(void) {
#ifdef _SC_PHYS_PAGES
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages > 0 && size > 0) return (int64_t)pages * size;
#endif
    return 0;
}

machine_memory machine_memory_guess(int64_t weights_bytes, arena *mem) {
    const int64_t gib = (int64_t)1 << 30;
    int64_t host = host_bytes(), needed = weights_bytes + weights_bytes / 4 + 4 * gib;
    int64_t bytes = host > 0 && host / 2 < 8 * gib ? host / 2 : 8 * gib;
    if (bytes < needed)
        return (machine_memory){needed, "a guess: the weights and a small KV cache", 1};
    return (machine_memory){
        bytes,
        arena_printf(mem, "a guess%s", host / 2 == bytes ? ": half of the host's memory" : ""), 1};
}

/* Output of a short program; NULL: it failed. */
static const char *ask(const char *const *argv, const char *path, arena *mem) {
    if (!path) return NULL;
    process_call c = {
        .argv = argv, .stdout_path = path, .stderr_path = path, .timeout_s = ASK_S, .grace_s = 1};
    process_result r;
    file_bytes f;
    err e = {0};
    if (process_run(&c, &r, &e) || r.end != PROCESS_EXITED || r.code != 0 ||
        file_read(path, mem, &f, &e))
        return NULL;
    return f.s;
}

machine_memory machine_memory_ask(const char *bench, const char *folder, int64_t weights_bytes,
                                  arena *mem) {
    const char *argv[] = {bench, "--list-devices", NULL};
    const char *path = arena_printf(mem, "%s/devices.txt", folder);
    const char *text = path ? ask(argv, path, mem) : NULL;
    const char *name = NULL;
    int64_t bytes = text ? machine_devices_bytes(text, mem, &name) : 0;
    if (bytes == 0) return machine_memory_guess(weights_bytes, mem);
    return (machine_memory){bytes, arena_printf(mem, "free on %s, says llama-bench", name), 0};
}

/* ---- conditions ---- */

static bool read_line(const char *path, char *out, size_t cap) {
    FILE *f = fopen(path, "r");
    bool ok = f && fgets(out, (int)cap, f);
    if (f) fclose(f);
    if (ok) out[strcspn(out, "\n")] = '\0';
    return ok;
}

static void comma(buf *b) {
    if (b->len) buf_add(b, ", ");
}

static void add_load(buf *out) {
    double load = -1;
    char line[LINE_MAX_LEN];
    if (read_line("/proc/loadavg", line, sizeof line)) load = strtod(line, NULL);
#ifdef __APPLE__
    else if (getloadavg(&load, 1) != 1)
        load = -1;
#endif
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (load < 0) return;
    comma(out);
    buf_addf(out, "load %.2f on %ld core%s before", load, cores, cores == 1 ? "" : "s");
}

/* Linux: an adapter that is online, or none while there is a battery. */
static void add_power(buf *out) {
    char line[LINE_MAX_LEN];
    bool any = false, on = false;
    glob_t g = {0};
    if (glob("/sys/class/power_supply/*/online", 0, NULL, &g) == 0)
        for (size_t i = 0; i < g.gl_pathc; i++)
            if (read_line(g.gl_pathv[i], line, sizeof line)) {
                any = true;
                on = on || line[0] == '1';
            }
    globfree(&g);
    if (!any) return;
    comma(out);
    buf_add(out, on ? "mains power" : "battery");
}

static void add_heat(buf *out) {
    char line[LINE_MAX_LEN];
    double most = 0;
    glob_t g = {0};
    if (glob("/sys/class/thermal/thermal_zone*/temp", 0, NULL, &g) == 0)
        for (size_t i = 0; i < g.gl_pathc; i++)
            if (read_line(g.gl_pathv[i], line, sizeof line) && strtod(line, NULL) / 1000 > most)
                most = strtod(line, NULL) / 1000;
    globfree(&g);
    if (most <= 0) return;
    comma(out);
    buf_addf(out, "host at %.0f C before", most);
}

/* macOS: "Now drawing from 'AC Power'", "CPU_Speed_Limit = 100". */
static void add_pmset(const char *folder, buf *out, arena *mem) {
    if (!process_find("pmset", mem)) return;
    const char *power[] = {"pmset", "-g", "batt", NULL}, *heat[] = {"pmset", "-g", "therm", NULL};
    const char *text = ask(power, arena_printf(mem, "%s/power.txt", folder), mem);
    const char *from = text ? strstr(text, "drawing from '") : NULL;
    if (from) {
        from += strlen("drawing from '");
        comma(out);
        buf_addf(out, "%.*s", (int)strcspn(from, "'\n"), from);
    }
    text = ask(heat, arena_printf(mem, "%s/thermal.txt", folder), mem);
    const char *limit = text ? strstr(text, "CPU_Speed_Limit") : NULL;
    if (!limit) return;
    limit += strcspn(limit, "0123456789\n");
    comma(out);
    buf_addf(out, "speed limit %ld %% before", strtol(limit, NULL, 10));
}

const char *machine_conditions(const char *folder, arena *mem) {
    buf b;
    buf_init(&b);
    add_load(&b);
    add_power(&b);
    add_heat(&b);
    add_pmset(folder, &b, mem);
    const char *s = arena_strdup(mem, b.len ? b.s : "not readable");
    buf_done(&b);
    return s;
}
