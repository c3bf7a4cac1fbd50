"""Bounded reads, atomic private writes, and OS errors as sentences. Any thread; blocks on the disk."""

from __future__ import annotations

import errno
import json
import os
import stat
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from inspector.errors import ConfigError, FileError, StorageError

LARGEST_CONFIG: Final = 16 * 1024 * 1024
"""Bytes. Client files of a few MB exist (chat histories beside `mcpServers`); above, it is no config file."""

_REASONS: Final = {
    errno.ENOSPC: ("the disk is full", "Free some space"),
    errno.EDQUOT: ("your disk quota is used up", "Free some space"),
    errno.EROFS: ("it is on a read-only file system", "Choose a folder that can be written"),
    errno.EACCES: ("this user may not write there", "Change its owner or permissions"),
    errno.EPERM: ("this user may not change it", "Change its owner or permissions"),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "Remove or rename that file"),
    errno.EEXIST: ("it is a file, not a folder", "Remove or rename that file"),
    errno.ELOOP: ("its symbolic links go round in a circle", "Repair the links"),
    errno.ENAMETOOLONG: ("its name is too long", "Choose a shorter path"),
}


def storage_error(path: Path, error: OSError) -> StorageError:
    """What stopped us at `path`, and the way out every such fault shares: another folder."""
    reason, step = _REASONS.get(error.errno or 0, (error.strerror or type(error).__name__, "Check the path"))
    return StorageError(
        f"{path} cannot be used: {reason}.",
        f"{step}, or give another folder with --data-dir (or MCP_LOUPE_DATA).",
        facts={"path": str(path), "errno": error.errno},
    )


def read_text(path: Path) -> str:
    """A config file's text; UTF-8, or UTF-16 when it starts with a byte order mark (as PowerShell writes it).

    Raises ConfigError when it is missing, unreadable, no regular file (a FIFO would block for ever), or too
    large.
    """
    try:
        if not path.is_file():
            raise ConfigError(f"{path} is not a file.", "Check the path.")
        with path.open("rb") as file:
            found = file.read(LARGEST_CONFIG + 1)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else "its name is not a path"
        raise ConfigError(
            f"{path} cannot be read: {reason}.", "Check the path and its permissions."
        ) from None
    if len(found) > LARGEST_CONFIG:
        raise ConfigError(f"{path} is larger than 16 MiB, so it is no config file.", "Check the path.")
    try:
        return found.decode("utf-16" if found[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(
            f"{path} is no text that can be read (byte {error.start}).", "Save it as UTF-8."
        ) from None


def read_json(path: Path, empty: Any, remedy: str) -> Any:
    """What a JSON file that people may edit holds; `empty` while it does not exist. Raises ConfigError."""
    if not path.exists():
        return empty
    try:
        return json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise ConfigError(f"{path} is not JSON.", remedy) from None


def write_json(path: Path, document: Any) -> None:
    """Such a file, as people would write it; lone surrogates, which have no UTF-8, stay escapes. As `write_private`."""
    text = json.dumps(document, indent=2, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(document, indent=2)
    write_private(path, text + "\n")


def read_bytes(path: Path) -> bytes:
    """The whole of a file a person named. Raises FileError."""
    try:
        return path.read_bytes()
    except OSError as problem:
        text = f"{path} cannot be read: {problem.strerror or problem}."
        raise FileError(text, "Check the path.") from problem


def read_own(path: Path, largest: int) -> bytes | None:
    """The bytes of a file only we can have written: regular, no link, our uid, closed to others, `largest` at most.

    None for anything else there, a FIFO too, which is not waited for. Raises OSError when nothing can be opened.
    """
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(path, flags)
    try:
        found = os.fstat(handle)
        private = os.name == "nt" or (is_ours(found) and not found.st_mode & 0o077 and found.st_nlink == 1)
        if not stat.S_ISREG(found.st_mode) or not private or found.st_size > largest:
            return None
        with os.fdopen(os.dup(handle), "rb") as file:
            content = file.read(largest + 1)
        return content if len(content) <= largest else None
    finally:
        os.close(handle)


def is_ours(found: os.stat_result) -> bool:
    """Whether it belongs to the user we run as; Windows has other means, and a profile folder is private there."""
    return os.name == "nt" or found.st_uid == os.geteuid()


def append_private(path: str | Path) -> int:
    """A file descriptor to append with, the file 0600 even when it was there before. Raises OSError."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    if os.name != "nt":
        os.fchmod(handle, 0o600)
    return handle


def write_private(path: Path, text: str) -> None:
    """Replaces `path` by `text` in one step, mode 0600; a reader sees the old text or the new, never a part.

    A symbolic link is followed, not replaced: people keep such files in a dotfiles folder. Raises
    StorageError.
    """
    target = Path(os.path.realpath(path))
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(
            prefix=f".{target.name}.", dir=target.parent
        )  # mkstemp makes it 0600
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise storage_error(path, error) from None
