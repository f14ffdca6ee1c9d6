// Accelerations of bodies by all bodies: positions and masses are needed whole, accelerations are made for the slice. The work-items
// of a work-group that have the same place in its first dimension share a body, and each of these PARTS adds up what every PARTS-th body
// contributes, so that all read next to each other. By one work-item a body, 2^19 bodies are two waves of an H100, and the end of the
// last one leaves 5 % of the time to few multiprocessors.
__kernel void accelerations(__global const float4* bodies, __global float4* result, __local float4* sums, const uint n,
                            const uint first, const uint count, const float softening) {
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
