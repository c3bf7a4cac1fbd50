"""Screens that are imported when somebody goes to one: with what they are made of, a third of the console's modules.

Built on the main thread; what is late is registered on a request thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Final
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask, request
from flask.typing import ResponseReturnValue
from werkzeug.routing import BuildError, Rule

LATE: Final[Mapping[str, tuple[str, ...]]] = {
    "lab": ("lab", "lab_files", "lab_evaluate"),
    "code": ("code",),
    "compare": ("compare",),
    "replay": ("replay", "replay_runs"),
}
"""By the word their addresses begin with: modules of this folder, with a blueprint of their name; /WORD is WORD.index."""
_FAILED: Final = "loupe.late"
"""Where a request keeps what came of loading its screen, until the guard has looked at it."""


class GrowingFlask(Flask):
    """A Flask application some of whose screens come with the first request for one.

    Flask refuses set-up after the first request, because workers that have not seen it would answer otherwise. Here is
    one process, and a request for a late screen waits until it is there.
    """

    def __init__(self, *args: Any, late: Mapping[str, tuple[str, ...]], **options: Any) -> None:
        self._late: dict[str, tuple[str, ...]] = {}
        self._loading = threading.RLock()
        super().__init__(*args, **options)
        self._late.update(late)
        for word in late:
            # Every page's rail leads there: that is no reason to import them.
            self.url_map.add(Rule(f"/{word}", endpoint=f"{word}.index", build_only=True))
        self.url_build_error_handlers.append(self._build_late)

    def wsgi_app(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            self.load(str(environ["PATH_INFO"]).split("/", 2)[1:2])
        # Any fault at all: an answer of werkzeug's own would pass by the guard and its headers.
        except Exception as error:  # noqa: BLE001
            environ[_FAILED] = error
        return super().wsgi_app(environ, start_response)

    def load(self, words: Iterable[str] | None = None) -> None:
        """Import and register the screens whose addresses begin so, unless that is done; without words, all.

        What fails half-way (no memory, no file handle) is tried again by the next request.
        """
        for word in list(self._late) if words is None else words:
            if word in self._late:
                with self._loading:
                    modules = [import_module(f"{__package__}.{name}") for name in self._late.get(word, ())]
                    for module in modules:
                        if module.blueprint.name not in self.blueprints:
                            self.register_blueprint(module.blueprint)
                    self._late.pop(word, None)

    def dispatch_request(self) -> ResponseReturnValue:
        """After the guard: a signed-in browser is told that its screen could not be loaded."""
        if (error := request.environ.get(_FAILED)) is not None:
            raise error
        return super().dispatch_request()

    def _build_late(self, error: Exception, endpoint: str, values: dict[str, Any]) -> str:
        """An address within a late screen, which only that screen can make."""
        word = next((word for word, modules in self._late.items() if endpoint.split(".")[0] in modules), None)
        if word is None or not isinstance(error, BuildError):
            raise error
        self.load([word])
        return self.url_for(endpoint, **values)

    def _check_setup_finished(self, f_name: str) -> None:
        """Never finished: see above."""
