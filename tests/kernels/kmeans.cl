// After Rodinia's kmeans, one iteration: the nearest centre of each point, then the sums and the
// number of points of each centre. The host divides them.
__kernel void assign(__global const float* points, __global const float* centres,
                     __global int* nearest, const int centre_count, const int features) {
  const int point = get_global_id(0);
  float least = FLT_MAX;
  for (int c = 0; c < centre_count; ++c) {
    float distance2 = 0;
    for (int f = 0; f < features; ++f) {
      const float apart = points[point * features + f] - centres[c * features + f];
      distance2 += apart * apart;
    }
    if (distance2 < least) {
      least = distance2;
      nearest[point] = c;
    }
  }
}

__kernel void add(__global const float* points, __global const int* nearest,
                  __global float* sums, __global uint* members, const int features,
                  const int point_count) {
  const int c = get_global_id(1), f = get_global_id(0);
  for (int point = 0; point < point_count; ++point) {
    if (nearest[point] != c) continue;
    sums[c * features + f] += points[point * features + f];
    if (f == 0) ++members[c];
  }
}
