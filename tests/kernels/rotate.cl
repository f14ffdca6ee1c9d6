// After the image rotation of SDKs: a picture is read between its pixels by a sampler.
__constant sampler_t between = CLK_NORMALIZED_COORDS_FALSE | CLK_ADDRESS_CLAMP_TO_EDGE |
                               CLK_FILTER_NEAREST;

__kernel void rotate_image(__read_only image2d_t picture, __global float4* out, const int width,
                           const int height, const float cosine, const float sine) {
  const int x = get_global_id(0), y = get_global_id(1);
  const float dx = x + 0.5f - 0.5f * width, dy = y + 0.5f - 0.5f * height;
  const float2 from = (float2)(cosine * dx + sine * dy + 0.5f * width,
                               cosine * dy - sine * dx + 0.5f * height);
  out[y * width + x] = read_imagef(picture, between, from);
}
