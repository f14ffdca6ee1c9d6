// After the n-body kernels of SDKs, with structures: a body, and the parameters by value.
typedef struct {
  float4 place;  // and the mass
  float velocity[3];
  uint id;
} body;
typedef struct {
  float dt;
  uint bodies;
  float softening;
} parameters;

__kernel void nbody(__global const body* now, __global body* next, const parameters given) {
  const uint i = get_global_id(0);
  body mine = now[i];
  float3 force = (float3)(0);
  for (uint j = 0; j < given.bodies; ++j) {
    const float3 apart = now[j].place.xyz - mine.place.xyz;
    const float r2 = dot(apart, apart) + given.softening;
    force += now[j].place.w / (r2 * sqrt(r2)) * apart;
  }
  mine.velocity[0] += given.dt * force.x;
  mine.velocity[1] += given.dt * force.y;
  mine.velocity[2] += given.dt * force.z;
  mine.place.x += given.dt * mine.velocity[0];
  mine.place.y += given.dt * mine.velocity[1];
  mine.place.z += given.dt * mine.velocity[2];
  next[i] = mine;
}
