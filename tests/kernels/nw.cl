// After Rodinia's nw (Needleman and Wunsch): scores of an alignment of two sequences, one
// anti-diagonal per launch.
__kernel void begin(__global int* score, const int n, const int gap) {
  const int j = get_global_id(0), i = get_global_id(1);
  score[i * n + j] = i == 0 ? -gap * j : j == 0 ? -gap * i : 0;
}

__kernel void diagonal(__global const uchar* a, __global const uchar* b, __global int* score,
                       const int n, const int gap, const int first, const int d) {
  const int i = get_global_id(0) + first, j = d - i;
  const int same = score[(i - 1) * n + j - 1] + (a[i] == b[j] ? 3 : -2);
  const int gapped = max(score[(i - 1) * n + j], score[i * n + j - 1]) - gap;
  score[i * n + j] = max(same, gapped);
}
