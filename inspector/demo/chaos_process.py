"""Faults of pipes and processes, stdio only; run on the server's one thread."""

from __future__ import annotations

import os
import time

from inspector.demo.chaos_faults import Ask, dumps, fault
from inspector.demo.chaos_stdio import Pipe

STDERR_LINE = b"chaos stderr line, 64 bytes with its newline, nothing to worry\n"
BANNER = b"> pkg@1 start\n\n[dotenv@17.2.0] injecting env (3) from .env\n"


def _half(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


@fault("stdio", "A10, SDK 1", "The half frame; exit code 1; the call ended as connection lost, once.")
def crash_mid_frame(ask: Ask, out: Pipe) -> None:
    """Writes half of the answer and exits with code 1."""
    out.write(_half(ask.answer()))
    os._exit(1)


@fault(
    "stdio", "A10, A15, SDK 2", "The half frame; the signal by name; a clean reconnect.", takes=("signal", 11)
)
def segv_mid_frame(ask: Ask, out: Pipe) -> None:
    """Writes half of the answer and dies by `signal` (SIGSEGV)."""
    out.write(_half(ask.answer()))
    os.kill(os.getpid(), ask.arg)


@fault("stdio", "A9, A10, SDK 2", "The exit code, the last stderr lines, the argv.", takes=("code", 3))
def exit_with(ask: Ask, out: Pipe) -> None:
    """Writes one stderr line and exits with `code`, answering nothing."""
    out.write(b"chaos: leaving\n", fd=2)
    os._exit(ask.arg)


@fault("stdio", "A10", "The result, then the exit code; no call lost.", takes=("code", 0))
def exit_after_answer(ask: Ask, out: Pipe) -> None:
    """Answers, then exits with `code`."""
    out.frame(ask.answer())
    os._exit(ask.arg)


@fault(
    "stdio", "A10, SDK 1", "Connection lost while the process lives on; it is ended within the ladder's time."
)
def close_stdout(ask: Ask, out: Pipe) -> None:
    """Closes stdout without an answer and stays until stdin's EOF."""
    os.close(1)


@fault("stdio", "A10, A14", "The write that failed, and that the server no longer reads.")
def close_stdin(ask: Ask, out: Pipe) -> None:
    """Answers, closes stdin and stays until it is terminated."""
    unused, _ = os.pipe()
    os.dup2(unused, 0)
    os.close(unused)
    out.frame(ask.answer())


@fault("stdio", "A1, A5", "Three noise lines with line and offset, one of them blank; the call fine.")
def stdout_banner(ask: Ask, out: Pipe) -> None:
    """Prints a start-up banner on stdout before the answer."""
    out.write(BANNER)
    out.frame(ask.answer())


@fault("stdio", "A1", "A noise line that begins like a log line; the call open until the time-out.")
def log_prefix(ask: Ask, out: Pipe) -> None:
    """Puts `INFO ` before the answer on its line."""
    out.write(b"INFO " + ask.answer() + b"\n")


@fault("stdio", "A1", "The noise of the line; the call open until the time-out.")
def trailing_garbage(ask: Ask, out: Pipe) -> None:
    """Puts ` done.` after the answer on its line."""
    out.write(ask.answer() + b" done.\n")


@fault("stdio", "A1", "One noise line; both frames legible in its bytes.")
def glued_frames(ask: Ask, out: Pipe) -> None:
    """Writes a notification and the answer on one line, with no newline between."""
    out.write(dumps({"jsonrpc": "2.0", "method": "notifications/chaos"}) + ask.answer() + b"\n")


@fault("stdio", "A1", "Noise lines, and the cause: a frame may not span lines.")
def pretty_printed(ask: Ask, out: Pipe) -> None:
    """Writes the answer over several lines, broken at each top-level member."""
    out.write(ask.answer().replace(b',"', b',\n"') + b"\n")


@fault("stdio", "A1", "Header lines as noise, and the cause: Content-Length framing is not MCP's.")
def lsp_framing(ask: Ask, out: Pipe) -> None:
    """Frames the answer with a Content-Length header as language servers do."""
    frame = ask.answer()
    out.write(b"Content-Length: %d\r\n\r\n" % len(frame) + frame + b"\n")


@fault("stdio", "A8", "The byte order mark, and the answer behind it.")
def byte_order_mark(ask: Ask, out: Pipe) -> None:
    """Puts a UTF-8 byte order mark before the answer."""
    out.write(b"\xef\xbb\xbf" + ask.answer() + b"\n")


@fault("stdio", "A8, SDK 1", "The bad byte in hex and where it is; the session goes on.")
def invalid_utf8(ask: Ask, out: Pipe) -> None:
    """Answers with the bytes 0x93 and 0x94 (cp1252 quotes) inside a string."""
    frame = ask.result(content=[{"type": "text", "text": "%"}])
    out.write(frame.replace(b'"%"', b'"\x93quoted\x94"') + b"\n")


@fault("stdio", "A3, SDK 2", "The answer, its bytes with the carriage return.")
def crlf(ask: Ask, out: Pipe) -> None:
    """Ends the answer's line with CR LF."""
    out.write(ask.answer() + b"\r\n")


@fault("stdio", "A3", "The blanks counted, no error.")
def blank_lines(ask: Ask, out: Pipe) -> None:
    """Writes blank and space-only lines before and after the answer."""
    out.write(b"\n \n\r\n" + ask.answer() + b"\n\n")


@fault("stdio", "A6, SDK 1", "The last bytes, kept though no newline ended them; exit code 0.")
def no_final_newline(ask: Ask, out: Pipe) -> None:
    """Writes the answer without a newline and exits with code 0."""
    out.write(ask.answer())
    os._exit(0)


@fault("stdio", "A6", "That bytes without a newline are waiting; the call open until the time-out.")
def no_newline(ask: Ask, out: Pipe) -> None:
    """Writes the answer without a newline and goes on."""
    out.write(ask.answer())


@fault("stdio", "A6", "The answer whole.")
def split_character(ask: Ask, out: Pipe) -> None:
    """Writes the answer in two pieces, cut inside a four-byte character."""
    frame = ask.result(content=[{"type": "text", "text": "party \U0001f389"}]) + b"\n"
    cut = frame.index(b"\xf0\x9f") + 2
    out.write(frame[:cut])
    out.write(frame[cut:])


@fault("stdio", "A6, B1", "The answer whole; the wait as measured.", takes=("milliseconds", 5))
def slow_drip(ask: Ask, out: Pipe) -> None:
    """Writes the answer byte by byte, `milliseconds` apart."""
    for byte in ask.answer() + b"\n":
        out.write(bytes([byte]))
        time.sleep(ask.arg / 1000)


@fault(
    "stdio", "A7", "The last lines and how many were dropped; the answer arrives.", takes=("bytes", 262_144)
)
def stderr_flood(ask: Ask, out: Pipe) -> None:
    """Writes `bytes` bytes of stderr lines before the answer."""
    out.write((STDERR_LINE * (ask.arg // len(STDERR_LINE) + 1))[: ask.arg], fd=2)
    out.frame(ask.answer())


@fault("stdio", "A7", "The end of it, cut and marked; the answer arrives.", takes=("bytes", 262_144))
def stderr_unbroken(ask: Ask, out: Pipe) -> None:
    """Writes `bytes` bytes to stderr with no newline before the answer."""
    out.write(b"e" * ask.arg, fd=2)
    out.frame(ask.answer())


@fault("stdio", "A8", "The bytes in hex, the colours as visible characters; no failure.")
def stderr_odd_bytes(ask: Ask, out: Pipe) -> None:
    """Writes ANSI colours, a NUL and invalid UTF-8 to stderr before the answer."""
    out.write(b"\x1b[31mred\x1b[0m \x00 \x93quoted\x94\n", fd=2)
    out.frame(ask.answer())


@fault("stdio", "A13, G5", "Masked values on screen, in exports and in logs.")
def leak_secrets(ask: Ask, out: Pipe) -> None:
    """Prints token-like values on stderr and in the answer."""
    token = "sk-" + "chaos" * 8
    out.write(f"Authorization: Bearer {token}\nAPI_KEY={token}\n".encode(), fd=2)
    out.frame(ask.result(content=[{"type": "text", "text": f"password={token}"}]))
