/* kernels.metal as it is given to the Metal compiler: with kernels.h in the place of its #include.
 * Made by kernels_text.cmake when the program is built. */
#ifndef RATECAST_BENCH_KERNELS_TEXT_H
#define RATECAST_BENCH_KERNELS_TEXT_H

extern const char KERNELS_TEXT[];

#endif
