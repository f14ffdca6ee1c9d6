// Accelerations of bodies by all bodies: positions and masses are needed whole, accelerations are made for the slice.
__kernel void accelerations(__global const float4* bodies, __global float4* result, const uint n, const uint first,
                            const float softening) {
  const size_t i = get_global_id(0);
  const float4 mine = bodies[first + i];
  float3 sum = (float3)(0.0f);
  for (uint j = 0; j < n; ++j) {
    const float3 apart = bodies[j].xyz - mine.xyz;
    const float inverse = rsqrt(dot(apart, apart) + softening);
    sum += apart * (bodies[j].w * inverse * inverse * inverse);
  }
  result[i] = (float4)(sum, 0.0f);
}
