// After Rodinia's kmeans: the nearest centre of each point; the sums and the number of points of
// each centre; their means. `changed` is set while a point has another centre than before. Sums are
// fixed-point numbers, so that they do not depend on the order.
#define ONE 1048576.0f

__kernel void assign(__global const float* points, __global const float* centres,
                     __global int* nearest, __global int* changed, const int centre_count,
                     const int features) {
  const int point = get_global_id(0);
  float least = FLT_MAX;
  int made = 0;
  for (int c = 0; c < centre_count; ++c) {
    float distance2 = 0;
    for (int f = 0; f < features; ++f) {
      const float apart = points[point * features + f] - centres[c * features + f];
      distance2 += apart * apart;
    }
    if (distance2 < least) {
      least = distance2;
      made = c;
    }
  }
  if (nearest[point] != made) *changed = 1;
  nearest[point] = made;
}

__kernel void add(__global const float* points, __global const int* nearest, __global long* sums,
                  __global uint* members, const int features, const int point_count) {
  const int c = get_global_id(1), f = get_global_id(0);
  long sum = 0;
  uint count = 0;
  for (int point = 0; point < point_count; ++point) {
    if (nearest[point] != c) continue;
    sum += convert_long_rte(points[point * features + f] * ONE);
    ++count;
  }
  sums[c * features + f] += sum;
  if (f == 0) members[c] += count;
}

__kernel void divide(__global const long* sums, __global const uint* members,
                     __global float* centres, const int features) {
  const int i = get_global_id(0);
  const uint count = members[i / features];
  if (count > 0) centres[i] = (float)sums[i] / (float)count / ONE;
}
