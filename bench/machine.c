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

/* "  CUDA0: NVIDIA H200 (143155 MiB, 142000 MiB free)": description and free bytes; 0: no device,
 * or one without memory of its own (BLAS). Descriptions hold parentheses, too. */
static int64_t device_bytes(const char *line, char *name, size_t cap) {
    static const char MIB[] = " MiB, ", FREE[] = " MiB free)";
    const int64_t most_mib = (int64_t)1 << 30;
    const char *colon = strstr(line, ": "), *open = NULL;
    for (const char *p = line; (p = strchr(p, '(')); p++) open = p;
    if (!colon || !open || open <= colon + 2) return 0;
    char *end = NULL;
    (void)strtoll(open + 1, &end, 10);
    if (end == open + 1 || strncmp(end, MIB, sizeof MIB - 1) != 0) return 0;
    const char *at = end + sizeof MIB - 1;
    long long mib = strtoll(at, &end, 10);
    if (end == at || strncmp(end, FREE, sizeof FREE - 1) != 0 || mib <= 0 || mib > most_mib)
        return 0;
    size_t n = (size_t)(open - colon - 2);
    while (n > 0 && colon[2 + n - 1] == ' ') n--;
    snprintf(name, cap, "%.*s", (int)n, colon + 2);
    return (int64_t)mib << 20;
}

/* Devices of one description work together; beside a card, the processor's own graphics does not.
 */
int64_t machine_devices_bytes(const char *text, arena *mem, const char **name) {
    enum { KINDS_MAX = 16 };
    char line[LINE_MAX_LEN], names[KINDS_MAX][LINE_MAX_LEN];
    int64_t bytes[KINDS_MAX] = {0};
    size_t n = 0, best = 0;
    for (const char *p = text; *p;) {
        size_t len = strcspn(p, "\n"), k = 0;
        snprintf(line, sizeof line, "%.*s", (int)len, p);
        char found[LINE_MAX_LEN] = "";
        int64_t b = device_bytes(line, found, sizeof found);
        while (k < n && strcmp(names[k], found) != 0) k++;
        if (b > 0 && k < KINDS_MAX) {
            if (k == n) snprintf(names[n++], LINE_MAX_LEN, "%s", found);
            bytes[k] += b;
            if (bytes[k] > bytes[best]) best = k;
        }
        p += len + (p[len] == '\n');
    }
    if (name) *name = n ? arena_strdup(mem, names[best]) : NULL;
    return bytes[best];
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

/* No device: weights and KV lie in the host's memory, as much of it as nobody uses. */
static machine_memory host_memory(int64_t weights_bytes, arena *mem) {
    char line[LINE_MAX_LEN];
    const int64_t most_kib = (int64_t)1 << 40;
    long long kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && kib == 0 && fgets(line, sizeof line, f))
        if (strncmp(line, "MemAvailable:", 13) == 0) kib = strtoll(line + 13, NULL, 10);
    if (f) fclose(f);
    if (kib > 0 && kib < most_kib)
        return (machine_memory){(int64_t)kib << 10, "free on the host; llama-bench lists no device",
                                0};
    if (host_bytes() / 2 > weights_bytes)
        return (machine_memory){
            host_bytes() / 2, "a guess: half of the host's memory; llama-bench lists no device", 1};
    return machine_memory_guess(weights_bytes, mem);
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
    if (bytes == 0 && text && strstr(text, "Available devices:\n  (none)"))
        return host_memory(weights_bytes, mem);
    if (bytes == 0) return machine_memory_guess(weights_bytes, mem);
    return (machine_memory){bytes, arena_printf(mem, "free on %s, says llama-bench", name), 0};
}

const char *machine_name(arena *mem) {
    char host[256] = "";
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    return arena_strdup(mem, host[0] ? host : "unknown");
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

/* Over the last minute; -1: not readable. */
static double load_average(void) {
    double load = -1;
    char line[LINE_MAX_LEN];
    if (read_line("/proc/loadavg", line, sizeof line)) load = strtod(line, NULL);
#ifdef __APPLE__
    else if (getloadavg(&load, 1) != 1)
        load = -1;
#endif
    return load;
}

double machine_load_per_core(void) {
    double load = load_average();
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return load >= 0 && cores > 0 ? load / (double)cores : 0;
}

static void add_load(buf *out) {
    double load = load_average();
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
