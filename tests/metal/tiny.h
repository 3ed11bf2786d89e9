#define TINY 1 /* stands for bench/kernels.h: the include is replaced by it */
