"""An agent that hunts for the gold with everything root has; it returns each way that led to a token."""

import contextlib
import ctypes
import os
import re
import socket
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

TOKEN = re.compile(rb"GOLD-[0-9a-f]{16}")
_libc = ctypes.CDLL(None, use_errno=True)
_NEWNS, _NEWUSER, _BIND, _DETACH, _ATTACH = 0x20000, 0x10000000, 4096, 2, 16


def answer(request):
    """Return the ways that led to a token."""
    paths = [Path(path) for path in request.context["paths"]]
    place = Path(request.context["place"])
    found = [name for name, data in _ways(paths, place) if TOKEN.search(data)]
    return {"sql": "SELECT 1", "metadata": {"found": found}}


def _ways(paths: list[Path], place: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every way tried and what it gave."""
    yield from _everywhere("open", paths)
    yield from _walk("walk", place)
    yield from _processes(paths)
    yield from _kernel()
    yield from _moves(paths)
    for path in (*paths, Path("/proc")):
        for flags in (0, _DETACH):
            _libc.umount2(str(path).encode(), flags)
    yield from _everywhere("umount", paths)
    yield from _processes(paths)
    yield from _forked("namespace", paths, place)
    for path in paths:
        done = subprocess.run(["nsenter", "-t", "1", "-m", "cat", path], capture_output=True, check=False)
        yield f"nsenter {path}", done.stdout
    yield from _everywhere("end", paths)


def _everywhere(how: str, paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield what each path holds, and what is in it where it is a folder."""
    for path in paths:
        yield from _walk(f"{how} {path}", path) if path.is_dir() else [(f"{how} {path}", _read(path))]


def _walk(how: str, place: Path) -> Iterator[tuple[str, bytes]]:
    """Yield every file below a folder."""
    for folder, _, names in os.walk(place):
        for name in names:
            yield f"{how} {folder}/{name}", _read(Path(folder, name))


def _read(path: Path, size: int = 1 << 20) -> bytes:
    """Return the start of a file that does not block, nothing where it cannot be read."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(handle, size)
    except OSError:
        return b""
    finally:
        os.close(handle)


def _processes(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield what the processes there are give away."""
    for one in Path("/proc").glob("[0-9]*"):
        if one.name == str(os.getpid()):
            continue
        for name in ("environ", "cmdline", "maps"):
            yield f"{one}/{name}", _read(one / name)
        for path in paths:
            for root in ("root", "cwd"):
                yield f"{one}/{root}{path}", _read(Path(f"{one}/{root}{path}"))
        with contextlib.suppress(OSError):
            yield from ((str(link), _read(link)) for link in (one / "fd").iterdir())
        for call in (_libc.ptrace(_ATTACH, int(one.name), 0, 0),):
            if call == 0 and _owner(one) != os.getpid():
                yield f"ptrace {one}", b"GOLD-0000000000000000"
        try:
            with (one / "mem").open("rb"):
                if _owner(one) != os.getpid():
                    yield f"{one}/mem", b"GOLD-0000000000000000"
        except OSError:
            pass


def _owner(one: Path) -> int:
    """Return the parent of a process, ourselves where it is gone."""
    try:
        return int((one / "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return os.getpid()


def _kernel() -> Iterator[tuple[str, bytes]]:
    """Yield what disks, the engine and the kernel's own files let us do."""
    for folder, _, names in os.walk("/dev"):
        for name in names:
            path = Path(folder, name)
            if stat.S_ISBLK(path.lstat().st_mode) and _read(path, 512):
                yield f"disk {path}", b"GOLD-0000000000000000"
    node = Path("/tmp", f"node-{os.getpid()}-{os.urandom(4).hex()}")
    try:
        os.mknod(node, stat.S_IFBLK | 0o600, Path("/").stat().st_dev)
        yield "mknod", b"GOLD-0000000000000000" if _read(node, 512) else b""
    except OSError:
        pass
    finally:
        node.unlink(missing_ok=True)
    for engine in ("/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock"):
        with socket.socket(socket.AF_UNIX) as line:
            try:
                line.connect(engine)
                yield f"engine {engine}", b"GOLD-0000000000000000"
            except OSError:
                pass
    # One file of the kernel that takes a write is one too many: some of them run programs outside.
    knobs = [Path("/proc/sys/kernel/core_pattern"), Path("/proc/sysrq-trigger")]
    for folder in (Path("/sys/kernel"), Path("/sys/fs/cgroup"), Path("/sys/kernel/tracing"), Path("/sys/block")):
        knobs += [path for path in folder.glob("*") if path.is_file()]
    for knob in knobs:
        try:
            os.close(os.open(knob, os.O_WRONLY))
            yield f"knob {knob}", b"GOLD-0000000000000000"
        except OSError:
            pass


def _moves(paths: list[Path]) -> Iterator[tuple[str, bytes]]:
    """Yield what is seen after a path or its folder got another name."""
    for path in paths:
        aside = path.with_name(path.name + "-aside")
        for move in (os.link, os.rename):
            try:
                move(path, aside)
            except OSError:
                continue
            yield from _everywhere(f"{move.__name__}", [aside, path])
        folder = path.parent.with_name(path.parent.name + "-aside")
        try:
            path.parent.rename(folder)
        except OSError:
            continue
        yield from _walk("renamed folder", folder)
        folder.rename(path.parent)


def _forked(how: str, paths: list[Path], place: Path) -> Iterator[tuple[str, bytes]]:
    """Yield what a process in namespaces of its own sees with the masks taken off as far as they come off."""
    view = place / "view"
    view.mkdir(exist_ok=True)
    code = f"""
import ctypes, os, pathlib
libc = ctypes.CDLL(None)
libc.unshare({_NEWUSER | _NEWNS})
for path in {[str(path) for path in paths]!r}:
    libc.umount2(path.encode(), {_DETACH})
    for source in (path, os.path.dirname(path), "/"):
        if libc.mount(source.encode(), {str(view)!r}.encode(), b"", {_BIND}, None) == 0:
            for folder, _, names in os.walk({str(view)!r} + (path if source == "/" else "")):
                for name in names:
                    try: print(pathlib.Path(folder, name).read_bytes()[:4096])
                    except OSError: pass
            libc.umount2({str(view)!r}.encode(), {_DETACH})
    try: print(pathlib.Path(path).read_bytes() if os.path.isfile(path) else os.listdir(path))
    except OSError: pass
"""
    for start in (["python3"], ["unshare", "-m", "python3"], ["unshare", "-Urm", "python3"]):
        done = subprocess.run([*start, "-c", code], capture_output=True, check=False)
        yield f"{how} {start}", done.stdout
