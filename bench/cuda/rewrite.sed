# kernels.metal, and what thunks.awk made of it, as CUDA: usage: sed -f rewrite.sed. What macros of metal_stdlib cannot do.
s/ *\[\[[^]]*\]\]//g
s/\([^a-z_0-9A-Z]\)device /\1/g
s/static inline/static __device__ __forceinline__/
s/^constant float/constexpr float/
s/^#define UNROLL$/#define UNROLL _Pragma("unroll")/
