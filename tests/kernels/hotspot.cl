// After Rodinia's hotspot: the temperature of a chip from its power, with a tile of it in local
// memory. Cells beyond the chip are as warm as those of its border.
#ifndef TILE
#define TILE 8
#endif
__kernel void hotspot(__global const float* power, __global const float* now,
                      __global float* next, const int n, const float dt) {
  __local float tile[TILE][TILE];
  const int x = get_global_id(0), y = get_global_id(1), tx = get_local_id(0), ty = get_local_id(1);
  tile[ty][tx] = now[y * n + x];
  barrier(CLK_LOCAL_MEM_FENCE);
  const float here = tile[ty][tx];
  const float west = x == 0 ? here : tx > 0 ? tile[ty][tx - 1] : now[y * n + x - 1];
  const float east = x == n - 1 ? here : tx < TILE - 1 ? tile[ty][tx + 1] : now[y * n + x + 1];
  const float north = y == 0 ? here : ty > 0 ? tile[ty - 1][tx] : now[(y - 1) * n + x];
  const float south = y == n - 1 ? here : ty < TILE - 1 ? tile[ty + 1][tx] : now[(y + 1) * n + x];
  next[y * n + x] = here + dt * (power[y * n + x] + north + south + east + west - 4 * here +
                                 0.1f * (80.0f - here));
}
