"""The doctor in the browser: one server examined step by step, each step shown as it is known. Request threads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import cast

from flask import Blueprint, Response, current_app, make_response, redirect, render_template, request, url_for
from werkzeug.wrappers import Response as AnyResponse

from inspector.doctor.doctor import Doctor
from inspector.doctor.step import Step
from inspector.errors import LoupeError
from inspector.settings.spec import ServerSpec
from inspector.web.frame import console, shell
from inspector.web.guard import spawns
from inspector.web.render import is_partial

blueprint = Blueprint("doctor", __name__)
log = logging.getLogger(__name__)


@dataclass(slots=True)
class Examination:
    """One run of the doctor. steps grow; problem: why it broke off, when it did."""

    probe: bool
    since_ms: int
    steps: list[Step] = field(default_factory=list)
    done: bool = False
    cancelled: bool = False
    problem: str = ""

    def run(self, steps: Iterator[Step]) -> None:
        try:
            for step in steps:
                self.steps.append(step)
                if self.cancelled:
                    break
        except LoupeError as problem:
            self.problem = f"{problem.message} {problem.remedy}"
        except Exception:  # any fault at all: the page would go on saying that all is well
            log.exception("an examination broke off")
            self.problem = "Loupe failed while examining; this is our own fault. The log has the details."
        finally:
            close = getattr(steps, "close", None)
            if close is not None:
                close()  # the doctor ends what it started
            self.done = True

    @property
    def failed(self) -> int:
        return sum(step.ok is False for step in self.steps)

    @property
    def odd(self) -> int:
        return sum(step.ok is None for step in self.steps)


class Examinations(dict[str, Examination]):
    """The last one of each server, by key; one dictionary a console. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def begin(self, key: str, *, probe: bool) -> Examination | None:
        """A new one; None while one of this server is under way, as when a form is sent twice."""
        with self._lock:
            running = self.get(key)
            if running is not None and not running.done:
                return None
            self[key] = Examination(probe, int(time.time() * 1000))
            return self[key]


def examinations() -> Examinations:
    return cast(Examinations, current_app.extensions.setdefault("doctor", Examinations()))


def begin(key: str, spec: ServerSpec, *, probe: bool) -> None:
    """Start an examination in a thread of its own, unless one of this server is under way."""
    found = examinations().begin(key, probe=probe)
    if found is None:
        return
    steps = Doctor(spec, console().paths, probe=probe).examine()
    threading.Thread(target=found.run, args=(steps,), name=f"doctor {key}", daemon=True).start()


@blueprint.get("/servers/<key>/doctor")
def show(key: str) -> AnyResponse:
    """The examination as far as it is; a partial polls until it is done."""
    server = console().server(key)
    found = examinations().get(key)
    if is_partial():
        if found is not None and not found.done and request.args.get("seen") == str(len(found.steps)):
            return Response(status=204)
        return make_response(render_template("doctor/_steps.html", key=key, found=found))
    frame = shell("servers", key)
    return make_response(
        render_template("doctor/page.html", shell=frame, key=key, server=server, found=found)
    )


@blueprint.post("/servers/<key>/doctor")
@spawns
def examine(key: str) -> AnyResponse:
    """Examine on connections of its own; with `probe=1` deliberate faults are sent too."""
    begin(key, console().server(key).spec, probe=request.form.get("probe") == "1")
    return redirect(url_for("doctor.show", key=key), 303)


@blueprint.post("/servers/<key>/doctor/cancel")
def cancel(key: str) -> AnyResponse:
    """Stop after the step under way."""
    found = examinations().get(key)
    if found is not None:
        found.cancelled = True
    return redirect(url_for("doctor.show", key=key), 303)
