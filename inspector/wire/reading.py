"""Parsing what arrived without holding the loop. Loop thread."""

from __future__ import annotations

from anyio.lowlevel import checkpoint

from inspector.protocol import frames
from inspector.protocol.frames import Frame
from inspector.protocol.steps import LARGE, classify_in_steps


async def classify(raw: bytes) -> Frame:
    """`frames.classify`, with pauses for the other connections when `raw` is large.

    A 3.2 MB list parsed at once stalls every other call for 40 ms (docs/performance.md, p95-while-listing).
    """
    if len(raw) <= LARGE:
        frame = frames.classify(raw)
        if frame.why != frames.TOO_DEEP:
            return frame
    steps = classify_in_steps(raw)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: Frame = done.value
            return found
        await checkpoint()
