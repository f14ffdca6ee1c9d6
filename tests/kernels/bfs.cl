// After Rodinia's bfs: a breadth-first search by levels, in its pull form: a node that has no level
// looks whether one of its neighbours got one in the round before. Nodes of the whole graph are
// read, those of the slice written.
__kernel void begin(__global int* level, const int source) {
  const int node = get_global_id(0);
  level[node] = node == source ? 0 : -1;
}

__kernel void expand(__global const int* rows, __global const int* neighbours,
                     __global int* level, __global int* more, const int round) {
  const int node = get_global_id(0);
  if (level[node] >= 0) return;
  for (int e = rows[node]; e < rows[node + 1]; ++e) {
    if (level[neighbours[e]] == round) {
      level[node] = round + 1;
      *more = 1;
      return;
    }
  }
}
