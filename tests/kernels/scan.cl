// After the scan of Hillis and Steele: in round r each element adds the one 2^r before it.
__kernel void scan(__global const uint* now, __global uint* next, const uint round) {
  const uint i = get_global_id(0), distance = 1u << round;
  next[i] = i >= distance ? now[i] + now[i - distance] : now[i];
}
