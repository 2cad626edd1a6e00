"""The VAE over windows as one CUDA kernel: a warp computes latents and reconstruction error of four windows.

``kernels.scores.vae`` is the CPU's version and the reference in tests. This one is written in CUDA C for speed: 16
operations of torch took 143 us for 30,800 windows on an H200, and needed the number of windows on the host; this kernel
reads it on the device. The same loops compiled by Numba took 700 us, most of it arithmetic on indices. The number of
hidden units is a multiple of four.
"""

WARPS = 4  # of a block
WINDOWS = 4  # of a warp: a weight is read once for them
SOURCE = """
#define POINTS 256
#define LATENTS 8
#define WARPS 4

__device__ float above_zero(float a) { return a < 0.0f ? 0.0f : a; }

// out[k][h] = bias[h] + sum over j of in[k][j] weight[j][h], for four windows k
__device__ void affine(const float* in, int pitch, int n, const float* weight, const float* bias, int columns,
                       bool rectified, float* out, int out_pitch, int lane) {
    for (int h = lane; h < columns; h += 32) {
        float a0 = bias[h], a1 = a0, a2 = a0, a3 = a0;
        for (int j = 0; j < n; j += 4) {
            const float w0 = weight[j * columns + h], w1 = weight[(j + 1) * columns + h];
            const float w2 = weight[(j + 2) * columns + h], w3 = weight[(j + 3) * columns + h];
            const float4 x0 = *(const float4*) (in + j), x1 = *(const float4*) (in + pitch + j);
            const float4 x2 = *(const float4*) (in + 2 * pitch + j), x3 = *(const float4*) (in + 3 * pitch + j);
            a0 += w0 * x0.x + w1 * x0.y + w2 * x0.z + w3 * x0.w;
            a1 += w0 * x1.x + w1 * x1.y + w2 * x1.z + w3 * x1.w;
            a2 += w0 * x2.x + w1 * x2.y + w2 * x2.z + w3 * x2.w;
            a3 += w0 * x3.x + w1 * x3.y + w2 * x3.z + w3 * x3.w;
        }
        out[h] = rectified ? above_zero(a0) : a0;
        out[out_pitch + h] = rectified ? above_zero(a1) : a1;
        out[2 * out_pitch + h] = rectified ? above_zero(a2) : a2;
        out[3 * out_pitch + h] = rectified ? above_zero(a3) : a3;
    }
    __syncwarp();
}

extern "C" __global__ void embed(
    const long long* count, const float* windows, const float* scale, const float* encode, const float* encode_bias,
    const float* latent, const float* latent_bias, const float* decode, const float* decode_bias, const float* output,
    const float* output_bias, float half_of_variance, float* latents, float* reconstruction_error) {
    __shared__ __align__(16) float all_x[WARPS][4][POINTS];
    __shared__ __align__(16) float all_hidden[WARPS][4][HIDDEN];
    __shared__ __align__(16) float all_z[WARPS][4][LATENTS];
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    float *x = all_x[warp][0], *hidden = all_hidden[warp][0], *z = all_z[warp][0];
    const long long n = *count;
    for (long long i = 4LL * (blockIdx.x * WARPS + warp); i < n; i += 4LL * WARPS * gridDim.x) {
        for (int k = 0; k < 4; k++) {
            const long long row = min(i + k, n - 1);
            const float size = scale[row];
            for (int j = lane; j < POINTS; j += 32) x[k * POINTS + j] = windows[row * POINTS + j] * size;
        }
        __syncwarp();
        affine(x, POINTS, POINTS, encode, encode_bias, HIDDEN, true, hidden, HIDDEN, lane);
        affine(hidden, HIDDEN, HIDDEN, latent, latent_bias, LATENTS, false, z, LATENTS, lane);
        affine(z, LATENTS, LATENTS, decode, decode_bias, HIDDEN, true, hidden, HIDDEN, lane);
        float squares[4] = {0.0f, 0.0f, 0.0f, 0.0f};
        float a[4][POINTS / 32];
        #pragma unroll
        for (int m = 0; m < POINTS / 32; m++) for (int k = 0; k < 4; k++) a[k][m] = output_bias[lane + 32 * m];
        for (int h = 0; h < HIDDEN; h++) {
            const float h0 = hidden[h], h1 = hidden[HIDDEN + h];
            const float h2 = hidden[2 * HIDDEN + h], h3 = hidden[3 * HIDDEN + h];
            #pragma unroll
            for (int m = 0; m < POINTS / 32; m++) {
                const float w = output[h * POINTS + lane + 32 * m];
                a[0][m] += w * h0; a[1][m] += w * h1; a[2][m] += w * h2; a[3][m] += w * h3;
            }
        }
        #pragma unroll
        for (int k = 0; k < 4; k++) {
            #pragma unroll
            for (int m = 0; m < POINTS / 32; m++) {
                const float d = a[k][m] - x[k * POINTS + lane + 32 * m];
                squares[k] += d * d;
            }
            for (int step = 16; step > 0; step /= 2) squares[k] += __shfl_xor_sync(0xffffffff, squares[k], step);
        }
        for (int k = 0; k < 4 && i + k < n; k++) {
            if (lane < LATENTS) latents[(i + k) * LATENTS + lane] = z[k * LATENTS + lane];
            if (lane == 0) {
                float length = 0.0f;
                for (int j = 0; j < LATENTS; j++) length += z[k * LATENTS + j] * z[k * LATENTS + j];
                reconstruction_error[i + k] = logf(squares[k] * half_of_variance + 0.5f * length);
            }
        }
        __syncwarp();
    }
}
"""
