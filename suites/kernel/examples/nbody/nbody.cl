// Computes the accelerations of the slice's bodies by all bodies, whose positions and masses are
// needed whole. PARTS work-items of a work-group, with the same index in its first dimension, share
// a body. Each adds up the contributions of every PARTS-th body, so that they read adjacent bodies.
// With one work-item per body, 2^19 bodies would be two waves on an H100, and in the last 5 % of
// the time only a few multiprocessors would be busy.
__kernel void accelerations(__global const float4* bodies, __global float4* result,
                            __local float4* sums, const uint n, const uint first, const uint count,
                            const float softening) {
  const uint i = get_global_id(0), place = get_local_id(0), places = get_local_size(0);
  const uint part = get_local_id(1);
  const float4 mine = bodies[first + min(i, count - 1)];
  float3 sum = (float3)(0.0f);
  for (uint j = part; j < n; j += PARTS) {
    const float3 apart = bodies[j].xyz - mine.xyz;
    const float inverse = rsqrt(dot(apart, apart) + softening);
    sum += apart * (bodies[j].w * inverse * inverse * inverse);
  }
  sums[part * places + place] = (float4)(sum, 0.0f);
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part > 0 || i >= count) return;
  float4 all = sums[place];
  for (uint other = 1; other < PARTS; ++other) all += sums[other * places + place];
  result[i] = all;
}
