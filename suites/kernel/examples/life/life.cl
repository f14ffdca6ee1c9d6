// Computes one generation of Conway's Game of Life on a torus. It is written for one device: it has
// the whole field and uses global indices.
__kernel void life(__global const uchar* now, __global uchar* next, const uint width,
                   const uint height) {
  const uint x = (uint)get_global_id(0), y = (uint)get_global_id(1);
  const uint left = (x + width - 1) % width, right = (x + 1) % width;
  uint neighbours = 0;
  for (uint dy = 0; dy < 3; ++dy) {
    const uint row = (y + height - 1 + dy) % height * width;
    neighbours += now[row + left] + now[row + x] + now[row + right];
  }
  const uint alive = now[y * width + x];
  neighbours -= alive;
  next[y * width + x] = neighbours == 3 || (alive && neighbours == 2);
}
