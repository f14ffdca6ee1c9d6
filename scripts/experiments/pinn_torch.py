#!/usr/bin/env python3
"""Burgers' equation by PyTorch, as `run pinn` trains it: the same network, points of each kind, loss and Adam, in true fp32 (TF32 off). Three ways:
nested autograd ("eager"), torch.func (jvp of jvp under vmap, "func"), and torch.func compiled ("compiled"). Prints collocation points a second.
What has not ended when --seconds are over, compiling for the most part, is given up, and said to be.

Usage: pinn_torch.py [--points 8192,65536] [--layers 4] [--width 256] [--steps 20] [--ways eager,func,compiled] [--seconds 40]

Beside it: mgpu-bench run pinn -d gpu --size 8192,65536 --preset large --mode resident -s single
"""

import argparse
import math
import os
import signal
import statistics
import time

os.environ["NVIDIA_TF32_OVERRIDE"] = "0"  # overrides the environment; cuBLAS reads it once

import torch  # noqa: E402
from torch.func import functional_call, jvp, vmap  # noqa: E402

NU = 0.01 / math.pi
WAYS = ("eager", "func", "compiled")


class Network(torch.nn.Module):
    def __init__(self, layers, width):
        super().__init__()
        sizes = [2] + [width] * layers + [1]
        self.linear = torch.nn.ModuleList(torch.nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        for each in self.linear:
            torch.nn.init.xavier_normal_(each.weight)
            torch.nn.init.zeros_(each.bias)

    def forward(self, x):
        for each in self.linear[:-1]:
            x = torch.tanh(each(x))
        return self.linear[-1](x)


def eager_residual(network, xt):
    """Returns the residual by nested reverse mode, as in most programs."""
    xt = xt.requires_grad_(True)
    u = network(xt)
    first = torch.autograd.grad(u, xt, torch.ones_like(u), create_graph=True)[0]
    u_x, u_t = first[:, :1], first[:, 1:]
    u_xx = torch.autograd.grad(u_x, xt, torch.ones_like(u_x), create_graph=True)[0][:, :1]
    return u_t + u * u_x - NU * u_xx


def func_residual(network, parameters, xt):
    """Returns the residual by forward mode for derivatives by the inputs, with reverse mode for the parameters."""
    def u(x, t):
        return functional_call(network, parameters, (torch.stack((x, t)),))[0]

    def at(point):
        x, t = point[0], point[1]
        one = torch.ones_like(x)
        value, u_t = jvp(lambda s: u(x, s), (t,), (one,))
        slope, u_xx = jvp(lambda y: jvp(lambda z: u(z, t), (y,), (one,))[1], (x,), (one,))
        return u_t + value * slope - NU * u_xx

    return vmap(at)(xt)


def rate(way, points, given):
    torch.manual_seed(1)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    network = Network(given.layers, given.width).to(device)
    few = max(64, min(points // 16, max(128, points // 256)))  # on the boundary and initially, as in `run pinn`
    domain = torch.rand(points, 2, device=device) * torch.tensor([2.0, 1.0], device=device) - torch.tensor([1.0, 0.0], device=device)
    wall = torch.stack((torch.arange(few, device=device) % 2 * 2.0 - 1, torch.rand(few, device=device)), 1)
    start = torch.stack((torch.rand(few, device=device) * 2 - 1, torch.zeros(few, device=device)), 1)
    target = -torch.sin(math.pi * start[:, :1])
    adam = torch.optim.Adam(network.parameters(), lr=1e-3, fused=device.type == "cuda")

    def loss():
        r = eager_residual(network, domain.detach()) if way == "eager" else func_residual(network, dict(network.named_parameters()), domain)
        return (r ** 2).mean() + 10 * (network(wall) ** 2).mean() + 10 * ((network(start) - target) ** 2).mean()

    computed = torch.compile(loss) if way == "compiled" else loss

    def step():
        adam.zero_grad(set_to_none=True)
        value = computed()
        value.backward()
        adam.step()
        return value

    def wait():
        if device.type == "cuda":
            torch.cuda.synchronize()

    def timed(steps):
        wait()
        begin = time.perf_counter()
        for _ in range(steps):
            last = step()
        wait()
        return (time.perf_counter() - begin) / steps, last

    timed(4)  # compiles, chooses kernels and allocates
    one, last = timed(1)
    steps, times = min(given.steps, max(1, int(0.5 / one))), []
    for _ in range(5):
        each, last = timed(steps)
        times.append(each)
    median = statistics.median(times)
    print(f"{way:9} {points:8} points {given.layers} x {given.width}: {median * 1e3:9.3f} ms a step, {points / median / 1e6:7.3f} M points/s, "
          f"loss {last.item():.6g}", flush=True)


def product_error(device):
    """Returns the relative error of a matrix product in fp32: about 1e-7; 3e-4 if TF32 is on."""
    a, b = (torch.randn(512, 512, device=device) for _ in range(2))
    exact = a.double() @ b.double()
    return (((a @ b).double() - exact).norm() / exact.norm()).item()


def give_up(*_):
    raise TimeoutError("given up, as --seconds are over")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", default="8192,65536")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seconds", type=int, default=40)
    given = parser.parse_args()
    unknown = set(given.ways.split(",")) - set(WAYS)
    if unknown:
        parser.error(f"--ways: {', '.join(sorted(unknown))}; expected: {', '.join(WAYS)}")
    signal.signal(signal.SIGALRM, give_up)
    begin = time.perf_counter()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    cuda = torch.cuda.is_available()
    error = product_error("cuda" if cuda else "cpu")
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name() if cuda else 'CPU'}; a product in fp32 is off by {error:.1e}", flush=True)
    if error > 1e-5:
        raise SystemExit("TF32 is on: these figures would be of something else")
    for way in given.ways.split(","):
        for points in (int(text) for text in given.points.split(",")):
            left = int(given.seconds - (time.perf_counter() - begin))
            try:
                if left < 1:
                    give_up()
                signal.alarm(left)
                rate(way, points, given)
            except Exception as failure:  # one missing way must not stop the others
                words = str(failure).splitlines()
                print(f"{way:9} {points:8} points: {type(failure).__name__}: {words[0] if words else ''}", flush=True)
            finally:
                signal.alarm(0)


if __name__ == "__main__":
    main()
