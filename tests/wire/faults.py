"""What Loupe makes of every fault of the chaos server that is a call: one row a fault."""

from __future__ import annotations

from dataclasses import dataclass

from inspector.errors import (
    AuthNeeded,
    BadReply,
    ConnectionLost,
    HttpFailed,
    LoupeError,
    NetworkFailed,
    PeerError,
    TimedOut,
)


@dataclass(frozen=True)
class Expected:
    """error: how the call ends, None for a result. classes: of the error events it leaves, each once or more.

    noise: whether bytes that are no frame are kept. ends: the connection is of no use afterwards.
    """

    error: type[LoupeError] | None
    classes: frozenset[str]
    noise: bool = False
    ends: bool = False


def fine(*classes: str, noise: bool = False, ends: bool = False) -> Expected:
    return Expected(None, frozenset(classes), noise, ends)


def fails(error: type[LoupeError], *classes: str, noise: bool = False, ends: bool = False) -> Expected:
    return Expected(error, frozenset(classes), noise, ends)


def hangs(*classes: str, noise: bool = False, ends: bool = False) -> Expected:
    return fails(TimedOut, "timeout", *classes, noise=noise, ends=ends)


REFUSED = fails(BadReply, "refused-frame")
UNREADABLE = fails(BadReply, "refused-frame", noise=True)
STATUS = fails(HttpFailed, "http-status")
BROKEN = fails(ConnectionLost, "network")
DEAD = "connection-closed"

BOTH: dict[str, Expected] = {
    "id_as_string": fails(BadReply, "wrong-id"),
    "id_as_float": REFUSED,
    "duplicate_answer": fine("duplicate-answer"),
    "unknown_id": fine("unknown-id"),
    "null_id_error": fails(PeerError, "id-less-error"),
    "result_and_error": REFUSED,
    "neither": REFUSED,
    "result_is_list": REFUSED,
    "result_is_null": REFUSED,
    "no_jsonrpc": REFUSED,
    "jsonrpc_one": REFUSED,
    "batch_answer": REFUSED,
    "error_is_string": REFUSED,
    "error_code_string": REFUSED,
    "nan_number": REFUSED,
    "custom_error_code": fails(PeerError),
    "sdk_code": fails(PeerError),
    "duplicate_keys": fine(),
    "unknown_notification": fine(),
    "list_changed": fine(),
    "notification_flood": fine(),
    "progress_with_token": fine(),
    "progress_backwards": fine("progress-token"),
    "never_answer": hangs(),
    "is_error": fine(),
    "long_line": fine(),
    "big_table": fine(),
    "big_structure": fine(),
    "big_integer": fine(),
    "odd_numbers": fine(),
    "lone_surrogate": fine(),
    "control_characters": fine(),
    "markup": fine(),
    "no_structured_content": fine(),
    "wrong_structured_content": fine(),
    "error_without_structure": fine(),
    "no_content": fine(),
    "odd_content": fine(),
    "unknown_result_type": fine(),
    "no_result_type": fine(),
    "empty_input_required": fine(),
    "endless_input_required": fine(),
}

STDIO: dict[str, Expected] = {
    **BOTH,
    "wrong_id": hangs("unknown-id"),
    "missing_id": hangs("refused-frame"),
    "server_request": fine("server-request"),
    "late_answer": hangs("late-answer"),
    "late_answer_after_cancel": hangs("late-answer"),
    "deep_json": UNREADABLE,
    "crash_mid_frame": fails(ConnectionLost, DEAD, noise=True, ends=True),
    "segv_mid_frame": fails(ConnectionLost, DEAD, noise=True, ends=True),
    "exit_with": fails(ConnectionLost, DEAD, ends=True),
    "exit_after_answer": fine(ends=True),
    "no_final_newline": fine(ends=True),
    "close_stdout": fails(ConnectionLost, "stdout-closed", DEAD, ends=True),
    "close_stdin": fine(ends=True),
    "no_newline": hangs("late-answer", ends=True),  # the end of stdout ends the line
    "stdout_banner": fine(noise=True),
    "log_prefix": UNREADABLE,
    "trailing_garbage": UNREADABLE,
    "glued_frames": hangs(noise=True),
    "pretty_printed": hangs(noise=True),
    "lsp_framing": fine(noise=True),
    "byte_order_mark": UNREADABLE,
    "invalid_utf8": UNREADABLE,
    "crlf": fine(),
    "blank_lines": fine(),
    "split_character": fine(),
    "slow_drip": fine(),
    "stderr_flood": fine(),
    "stderr_unbroken": fine(),
    "stderr_odd_bytes": fine(),
    "leak_secrets": fine(),
}

MODERN_HTTP: dict[str, Expected] = {
    **BOTH,
    "wrong_id": fails(BadReply, "wrong-id"),
    "missing_id": REFUSED,
    "server_request": fine("server-request"),
    "late_answer": hangs(),
    "late_answer_after_cancel": hangs(),
    "deep_json": STATUS,
    "html_500": STATUS,
    "json_500": fails(PeerError),
    "json_400": fails(PeerError, "wrong-id"),
    "bare_404": STATUS,
    "text_409": STATUS,
    "rate_limited": STATUS,
    "empty_202": STATUS,
    "body_202": fine("http-status"),
    "empty_200": STATUS,
    "wrong_content_type": fine("http-wrong-type"),
    "no_content_type": fine("http-wrong-type"),
    "bad_json": STATUS,
    "bad_utf8_body": STATUS,
    "redirect_loop": STATUS,
    "redirect_away": STATUS,
    "drop_body": BROKEN,
    "drop_before_headers": fails(NetworkFailed, "network"),
    "reset_connection": BROKEN,
    "cut_chunks": BROKEN,
    "byte_chunks": fine(),
    "gzip_anyway": fine("unasked-encoding"),
    "no_http": fails(NetworkFailed, "network"),
    "session_lost_404": fails(PeerError, "id-less-error"),
    "session_lost_400": fails(PeerError, "id-less-error"),
    "session_lost_401": fails(PeerError, "id-less-error"),
    "header_mismatch": fails(PeerError),
    "needs_scope": fails(AuthNeeded, "http-status"),
    "sse_big_event": fine(),
    "sse_split": fine(),
    "sse_after_response": fine(),
    "sse_keepalive_comments": fine(),
    "sse_drop": BROKEN,
    "sse_no_answer": fails(ConnectionLost, "stream-ended"),
    "sse_unfinished": fails(ConnectionLost, "stream-ended", noise=True),
    "sse_not_json": fine(noise=True),
    "sse_many_data_lines": fine(),
    "sse_fields": fine(),
    "sse_other_event": fails(ConnectionLost, "stream-ended", noise=True),
    "sse_never_ends": fine(),
}

HANDSHAKE_HTTP: dict[str, Expected] = {
    **MODERN_HTTP,
    "server_request": fine(),
    "bare_404": fails(HttpFailed, "http-status", "session-lost"),
    "session_lost_404": fine("http-status", "session-lost"),
    "session_lost_400": fails(HttpFailed, "id-less-error", "session-rule", ends=True),
    "session_lost_401": fails(HttpFailed, "id-less-error", "session-rule", ends=True),
}

OURS = frozenset({"timeout", "network", DEAD, "cancelled", "connect-failed", "answer-not-sent"})
"""Classes whose errors Loupe makes itself; the others are the server's doing."""
