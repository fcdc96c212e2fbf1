"""Pairing rows under a tolerance: sorted pairing in one dimension, bipartite matching in several, by a step budget."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence


class OutOfBudgetError(Exception):
    """The steps allowed for one decision are spent: the verdict is undecided."""


class Budget:
    """A count of elementary steps, so that a verdict never depends on the clock."""

    def __init__(self, steps: int) -> None:
        """Allow this many steps."""
        self.left = steps

    def spend(self, steps: int) -> None:
        """Take steps from the budget.

        Raises: OutOfBudgetError when none are left.
        """
        self.left -= steps
        if self.left < 0:
            raise OutOfBudgetError


def candidates(
    left: Sequence[float],
    right: Sequence[float],
    reach: Callable[[float], float],
    agree: Callable[[int, int], bool],
    budget: Budget,
) -> list[list[int]]:
    """Return, for each left index, the right ones within reach on one axis that agree in full."""
    order = sorted(range(len(right)), key=right.__getitem__)
    axis = [right[index] for index in order]
    edges: list[list[int]] = []
    for index, value in enumerate(left):
        width = reach(value)
        near = order[bisect_left(axis, value - width) : bisect_right(axis, value + width)]
        budget.spend(len(near) + 1)
        edges.append([other for other in near if agree(index, other)])
    return edges


def matched(edges: Sequence[Sequence[int]], right: int, budget: Budget) -> int:
    """Return the size of a maximum matching of a bipartite graph (Hopcroft and Karp)."""
    mate_left: list[int] = [-1] * len(edges)
    mate_right: list[int] = [-1] * right
    size = 0
    while True:
        depth = _layers(edges, mate_left, mate_right, budget)
        found = sum(
            mate == -1 and _augment(edges, start, depth, mate_left, mate_right) for start, mate in enumerate(mate_left)
        )
        if not found:
            return size
        size += found


def _layers(edges: Sequence[Sequence[int]], mate_left: list[int], mate_right: list[int], budget: Budget) -> list[int]:
    """Return how many alternating steps each left node lies from a free one; -1 where unreached."""
    depth = [0 if mate == -1 else -1 for mate in mate_left]
    queue = deque(node for node, mate in enumerate(mate_left) if mate == -1)
    while queue:
        node = queue.popleft()
        budget.spend(len(edges[node]))
        for other in edges[node]:
            following = mate_right[other]
            if following != -1 and depth[following] == -1:
                depth[following] = depth[node] + 1
                queue.append(following)
    return depth


def _augment(
    edges: Sequence[Sequence[int]], start: int, depth: list[int], mate_left: list[int], mate_right: list[int]
) -> bool:
    """Lengthen the matching by one along a layered path from a free left node, without recursion."""
    path: list[int] = [start]
    turns = {start: iter(edges[start])}
    taken: list[int] = []
    while path:
        node = path[-1]
        other = next((o for o in turns[node] if mate_right[o] == -1 or depth[mate_right[o]] == depth[node] + 1), None)
        if other is None:
            depth[node] = -1
            path.pop()
            del taken[len(path) - 1 if path else 0 :]
            continue
        taken.append(other)
        if mate_right[other] == -1:
            for left, right in zip(path, taken, strict=True):
                mate_left[left], mate_right[right] = right, left
            return True
        path.append(mate_right[other])
        turns[mate_right[other]] = iter(edges[mate_right[other]])
    return False
