# kernels.metal, and what thunks.awk made of it, as CUDA: usage: sed -f rewrite.sed. What macros of metal_stdlib cannot do.
s/ *\[\[[^]]*\]\]//g
s/\([^a-z_0-9A-Z]\)device /\1/g
s/static inline/static __device__ __forceinline__/
s/^constant float/constexpr float/
s/^#define UNROLL$/#define UNROLL _Pragma("unroll")/
# Several loads in flight, which nvcc sees no way to where it cannot count the rounds: the same elements in the same order.
s/for (uint i = thread_at; i < args\.vectors_n; i += args\.threads_n) \(.*;\)$/uint rounds = args.vectors_n \/ args.threads_n, i = thread_at; _Pragma("unroll 4") for (uint n = 0; n < rounds; n++, i += args.threads_n) \1 if (i < args.vectors_n) \1/
s/for (uint b = lane \/ 4; b < blocks_n;/_Pragma("unroll (COLUMNS == 1 ? 4 : 1)") &/
