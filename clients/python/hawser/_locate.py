"""Finds the local server by the file in its state directory."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from urllib.parse import urlsplit

from ._errors import HawserError
from ._http import Address

_ROOT = 0
#: The kernel's limit.
_MAX_LINKS = 40


def find_server(url: str | None, token: str | None, state_dir: str | os.PathLike[str] | None) -> Address:
    """The server's address, whether or not the server responds.

    A token is sent to an explicit address, or over the server's Unix socket; never to an address from a file, because
    another program may take the port of a dead server.
    """
    folder = Path(state_dir or os.environ.get("HAWSER_STATE_DIR") or _default_folder())
    given = url or os.environ.get("HAWSER_URL") or None
    token = token or os.environ.get("HAWSER_TOKEN") or None
    left = _left_address(folder)
    if given is not None and (left is None or given.rstrip("/") != left.url):
        return Address(given, token)
    if left is None:
        raise HawserError(
            "node_unavailable",
            f"no server is running for {folder}",
            hint="start one with hawser serve",
        )
    return Address(left.url, token or (_read(folder / "admin-token") or "").strip() or None, socket=left.socket)


def _default_folder() -> Path:
    return Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "hawser"


def _left_address(folder: Path) -> Address | None:
    text = _read(folder / "server.json")
    try:
        left = json.loads(text) if text is not None else None
        url, socket = left["url"], left["socket"]
    except (ValueError, LookupError, TypeError):
        # Partially written, of an older version, or not ours; ignore it.
        return None
    if not isinstance(url, str) or not isinstance(socket, str):
        return None
    check_trusted(socket)
    parts = urlsplit(url)
    return Address(f"{parts.scheme}://{parts.netloc}", socket=socket)


def check_trusted(path: str) -> None:
    """Raises unless only this account and root can change where the path leads.

    Every directory and link on the way must belong to one of them, and no directory may let others replace entries.
    Parts that do not exist yet are not checked.
    """
    names = list(Path(os.path.abspath(path)).parts[1:])
    reached = Path("/")
    links = 0
    while True:
        try:
            entry = os.lstat(reached)
        except (FileNotFoundError, NotADirectoryError):
            return
        if entry.st_uid not in (_ROOT, os.getuid()):
            raise _untrusted(path, f"{reached} belongs to another user")
        if stat.S_ISLNK(entry.st_mode):
            links += 1
            if links > _MAX_LINKS:
                raise _untrusted(path, f"too many links at {reached}")
            target = os.path.abspath(reached.parent / os.readlink(reached))
            names[:0] = Path(target).parts[1:]
            reached = Path("/")
            continue
        if not names:
            return
        if stat.S_ISDIR(entry.st_mode) and _is_open(entry):
            raise _untrusted(path, f"others can write to {reached}")
        reached /= names.pop(0)


def _is_open(entry: os.stat_result) -> bool:
    # In a sticky directory only the owner of an entry may replace it. A group with the ID of its user is the user's
    # own on many systems.
    if entry.st_mode & stat.S_ISVTX:
        return False
    by_group = entry.st_mode & stat.S_IWGRP and entry.st_gid != entry.st_uid
    return bool(by_group or entry.st_mode & stat.S_IWOTH)


def _untrusted(path: str, why: str) -> HawserError:
    return HawserError(
        "permission_denied",
        f"{path} can't be trusted with secrets: {why}",
        hint="use a directory that only you can change",
    )


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
