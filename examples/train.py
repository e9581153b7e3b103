"""Train a small neural network on two spirals, in plain Python, and print its progress."""

from __future__ import annotations

import argparse
import math
import random
import time

HIDDEN = 12
RATE = 0.05
Sample = tuple[float, float, float]  # x, y, and which spiral: 0 or 1


def spirals(count: int, noise: float) -> list[Sample]:
    """Return points of two interleaved spirals."""
    points = []
    for i in range(count):
        angle, label = 3 * math.pi * i / count, float(i % 2)
        radius = angle / (3 * math.pi) + 0.05
        turn = angle + math.pi * label
        x = radius * math.cos(turn) + random.gauss(0, noise)
        y = radius * math.sin(turn) + random.gauss(0, noise)
        points.append((x, y, label))
    return points


class Network:
    """One hidden layer of tanh units, trained by stochastic gradient descent on the logistic loss."""

    def __init__(self) -> None:
        """Start from small random weights."""
        self.inner = [[random.gauss(0, 1.5) for _ in range(3)] for _ in range(HIDDEN)]
        self.outer = [random.gauss(0, 0.3) for _ in range(HIDDEN + 1)]

    def forward(self, x: float, y: float) -> tuple[list[float], float]:
        """Return the hidden activations and the probability of the second spiral."""
        hidden = [math.tanh(a * x + b * y + c) for a, b, c in self.inner]
        score = self.outer[-1] + sum(w * h for w, h in zip(self.outer, hidden, strict=False))
        return hidden, 1 / (1 + math.exp(-max(-30.0, min(30.0, score))))

    def learn(self, sample: Sample) -> float:
        """Take one step on one sample; return its loss before the step."""
        x, y, label = sample
        hidden, p = self.forward(x, y)
        error = p - label
        for i, h in enumerate(hidden):
            slope = error * self.outer[i] * (1 - h * h)
            self.outer[i] -= RATE * error * h
            for j, value in enumerate((x, y, 1.0)):
                self.inner[i][j] -= RATE * slope * value
        self.outer[-1] -= RATE * error
        return -math.log(max(1e-12, p if label else 1 - p))


def main() -> None:
    """Train for the seconds that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20, help="how long to train")
    seconds = parser.parse_args().seconds
    random.seed(1)
    samples, network = spirals(300, 0.01), Network()
    began, printed, epoch = time.monotonic(), 0.0, 0
    while time.monotonic() - began < seconds:
        random.shuffle(samples)
        loss = sum(network.learn(sample) for sample in samples) / len(samples)
        epoch += 1
        if time.monotonic() - printed >= 1:
            printed = time.monotonic()
            right = sum((network.forward(x, y)[1] > 0.5) == bool(label) for x, y, label in samples)
            print(f"epoch {epoch:5d}  loss {loss:.4f}  accuracy {right / len(samples):.3f}", flush=True)
    print(f"trained for {epoch} epochs")


if __name__ == "__main__":
    main()
