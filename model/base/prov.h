/* Provenance classes: how far a number can be trusted, strongest first.
 * A fit of witnessed points is `derived`; any other result takes its weakest input. */
#ifndef RATECAST_PROV_H
#define RATECAST_PROV_H

typedef enum prov {
    PROV_WITNESSED, /* measured, by whom and how is in the source */
    PROV_DERIVED,   /* exact arithmetic on, or a fit of, witnessed values */
    PROV_MODELED,   /* came out of the simulator */
    PROV_ROOFLINE,  /* from a hardware catalogue's ceilings */
    PROV_ASSUMED,   /* declared by whoever wrote the scenario */
    PROV_CLAIM      /* somebody's printed figure, nothing behind it */
} prov;

extern const char *const PROV_NAMES[]; /* lower case, NULL-terminated: JSON */
extern const char *const PROV_UPPER[]; /* upper case: tables */

static inline prov prov_weakest(prov a, prov b) {
    return a > b ? a : b;
}

#endif
