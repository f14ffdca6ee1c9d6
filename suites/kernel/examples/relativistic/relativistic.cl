// Pushes charged particles of mass 1 by their electric forces and a magnetic field along z, in units
// in which light has speed 1. A momentum is gamma v. This is Boris's step: half of the electric
// push, a rotation that keeps the momentum's length, the other half. Positions are half a step ahead
// of momenta. PARTS work-items with the same index in the first dimension share a particle, as in
// the example nbody.
__kernel void push(__global const float4* now, __global const float4* momenta,
                   __global float4* next, __global float4* pushed, __global float2* energies,
                   __local float4* sums, const uint n, const uint first, const uint count,
                   const float coupling, const float softening, const float field,
                   const float step) {
  const uint i = first + min((uint)get_global_id(0), count - 1);
  const uint place = get_local_id(0), places = get_local_size(0), part = get_local_id(1);
  const float4 mine = now[i];  // the fourth component is the charge
  float4 sum = (float4)(0.0f);
  for (uint j = part; j < n; j += PARTS) {
    const float3 apart = mine.xyz - now[j].xyz;
    const float inverse = rsqrt(dot(apart, apart) + softening), potential = now[j].w * inverse;
    sum += (float4)(apart * (potential * inverse * inverse), potential);
  }
  sums[part * places + place] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (part > 0 || get_global_id(0) >= count) return;
  float4 all = sums[place];
  for (uint other = 1; other < PARTS; ++other) all += sums[other * places + place];

  const float4 before = momenta[i];
  const float3 half_push = all.xyz * (0.5f * step * coupling * mine.w);
  const float3 pulled = before.xyz + half_push;
  const float turn = 0.5f * step * mine.w * field / sqrt(1.0f + dot(pulled, pulled));
  const float3 t = (float3)(0.0f, 0.0f, turn), s = t * (2.0f / (1.0f + turn * turn));
  const float3 after = pulled + cross(pulled + cross(pulled, t), s) + half_push;
  const float gamma = sqrt(1.0f + dot(after, after));
  next[i] = (float4)(mine.xyz + after * (step / gamma), mine.w);
  pushed[i] = (float4)(after, gamma);

  // The energy at the time of the positions, in the first step and in this one. Both particles of a
  // pair have half of its potential.
  const float kinetic = 0.5f * (sqrt(1.0f + dot(before.xyz, before.xyz)) + gamma) - 1.0f;
  const float energy = kinetic + 0.5f * coupling * mine.w * all.w;
  const float begun = energies[i].x;
  energies[i] = (float2)(begun == 0.0f ? energy : begun, energy);
}
