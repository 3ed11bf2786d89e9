// The kernels for the CPU: the Metal text as it is, and generated functions that call each kernel.
#include "../kernels.metal"
#include "thunks.inc"
