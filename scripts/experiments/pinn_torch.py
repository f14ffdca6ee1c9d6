#!/usr/bin/env python3
"""Burgers' equation by PyTorch, as `run pinn` trains it: the same network, points of each kind, loss and Adam, in true fp32 (TF32 off). Three ways:
nested autograd ("eager"), torch.func (jvp of jvp under vmap, "func"), and torch.func compiled ("compiled"). Prints collocation points a second.

Usage: pinn_torch.py [--points 8192,65536] [--layers 4] [--width 256] [--steps 20] [--ways eager,func,compiled]

Beside it: mgpu-bench run pinn -d gpu --size 8192,65536 --preset large --mode resident -s single
"""

import argparse
import math
import statistics
import time

import torch
from torch.func import functional_call, jvp, vmap

NU = 0.01 / math.pi


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
    """Nested reverse mode: what most programs do."""
    xt = xt.requires_grad_(True)
    u = network(xt)
    first = torch.autograd.grad(u, xt, torch.ones_like(u), create_graph=True)[0]
    u_x, u_t = first[:, :1], first[:, 1:]
    u_xx = torch.autograd.grad(u_x, xt, torch.ones_like(u_x), create_graph=True)[0][:, :1]
    return u_t + u * u_x - NU * u_xx


def func_residual(network, parameters, xt):
    """Forward mode for derivatives by the inputs, reverse mode for the parameters."""
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
    few = max(64, points // 64)
    domain = torch.rand(points, 2, device=device) * torch.tensor([2.0, 1.0], device=device) - torch.tensor([1.0, 0.0], device=device)
    wall = torch.stack((torch.sign(torch.rand(few, device=device) - 0.5), torch.rand(few, device=device)), 1)
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

    for _ in range(5):
        last = step()
    times = []
    for _ in range(5):
        wait()
        begin = time.perf_counter()
        for _ in range(given.steps):
            last = step()
        wait()
        times.append((time.perf_counter() - begin) / given.steps)
    median = statistics.median(times)
    print(f"{way:9} {points:8} points {given.layers} x {given.width}: {median * 1e3:9.3f} ms a step, {points / median / 1e6:7.3f} M points/s, "
          f"loss {last.item():.6g}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", default="8192,65536")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ways", default="eager,func,compiled")
    given = parser.parse_args()
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch.set_float32_matmul_precision("highest")
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name() if torch.cuda.is_available() else 'CPU'}, TF32 off")
    for points in (int(text) for text in given.points.split(",")):
        for way in given.ways.split(","):
            try:
                rate(way, points, given)
            except Exception as error:  # one way that a version of PyTorch lacks is no reason to leave out the others
                print(f"{way:9} {points:8} points: {type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}")


if __name__ == "__main__":
    main()
