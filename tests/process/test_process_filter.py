"""The system call filter denies what it lists, by the numbers the kernel's own headers give."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import struct
import subprocess
import tempfile
from pathlib import Path

import pytest

from sqlassay.sandboxes.process.files import isolation
from sqlassay.sandboxes.process.interpreter import host_interpreter
from sqlassay.sandboxes.process.jail import Jailer, JailSpec, find_jailer
from sqlassay.sandboxes.process.syscalls import denied_calls, filter_program

HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", r"#define __NR_(\w+)\s+(\d+)"),
    "aarch64": ("/usr/include/asm-generic/unistd.h", r"#define __NR(?:3264)?_(\w+)\s+(\d+)"),
}
CALLS = """
import ctypes, errno, json, os, socket
libc = ctypes.CDLL(None, use_errno=True)
def outcome(number, *arguments):
    ctypes.set_errno(0)
    done = libc.syscall(number, *arguments)
    return "done" if done >= 0 else errno.errorcode[ctypes.get_errno()]
found = {"denied": sorted({outcome(number, 0, 0, 0, 0) for number in NUMBERS})}
found["clone3"] = outcome(435, 0, 0)
found["namespace"] = outcome(CLONE, 0x10000000 | 17, 0, 0, 0, 0)
families = {}
for family in (1, 2, 16, 17, 38, 40):
    try:
        socket.socket(family, socket.SOCK_DGRAM).close()
        families[family] = "made"
    except OSError as error:
        families[family] = errno.errorcode[error.errno]
found["families"] = families
pid = os.fork()
if pid == 0:
    os._exit(7)
found["fork"] = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(json.dumps(found))
"""


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_the_kernels(machine: str) -> None:
    """Each name has the number that the headers of this machine give it; a newer name may be missing there."""
    path, pattern = HEADERS[machine]
    if not Path(path).is_file():
        pytest.skip("the kernel's headers are not installed")
    known = {name: int(number) for name, number in re.findall(pattern, Path(path).read_text(encoding="utf-8"))}
    denied = denied_calls(machine)
    assert {name: number for name, number in denied.items() if name in known} == {
        name: known[name] for name in denied if name in known
    }
    assert len(denied.keys() & known.keys()) > 50


def test_jumps_stay_inside() -> None:
    """No jump leads out of a program, and each ends in a return: the kernel refuses any other."""
    for machine in HEADERS:
        program = filter_program(machine)
        assert program is not None
        code = list(struct.iter_unpack("=HBBI", program))
        for place, (operation, if_true, if_false, _) in enumerate(code):
            if operation & 7 == 5:
                assert place + 1 + max(if_true, if_false) < len(code)
        assert code[-1][0] == 6


def test_an_unknown_machine_has_no_filter() -> None:
    """Where the numbers are not known nothing is pretended: the report lists the filter as missing."""
    assert filter_program("riscv64") is None
    assert "system call filter (seccomp)" in isolation(Jailer("namespaces", as_root=True), 0).missing
    assert "system call filter (seccomp)" in isolation(Jailer("namespaces", as_root=True, filtered=True), 0).limits


@pytest.mark.jail
@pytest.mark.parametrize("method", ["bubblewrap", "namespaces"])
@pytest.mark.parametrize("as_root", [True, False])
def test_the_kernel_enforces_it(method: str, *, as_root: bool) -> None:
    """In every kind of jail the listed calls are refused, namespaces and odd sockets too, and fork still works."""
    if platform.machine() not in HEADERS:
        pytest.skip("no filter for this machine")
    if method == "bubblewrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    if as_root and os.geteuid() != 0:
        pytest.skip("not root")
    machine = platform.machine()
    numbers = [number for name, number in denied_calls(machine).items() if name not in ("vhangup", "personality")]
    code = CALLS.replace("NUMBERS", str(numbers)).replace("CLONE", "56" if machine == "x86_64" else "220")
    python = host_interpreter()
    spec = JailSpec((str(python.program), "-I", "-S", "-c", code), {}, python.paths, ())
    jailer = Jailer(method, as_root=as_root, filtered=True)
    with jailer.opened_filter(jailer.command(spec)) as (command, fds), tempfile.TemporaryFile() as errors:
        done = subprocess.run(command, pass_fds=fds, stdout=subprocess.PIPE, stderr=errors, check=False, timeout=30)
        errors.seek(0)
        assert done.returncode == 0, errors.read()
    found = json.loads(done.stdout)
    assert found["denied"] == ["EPERM"]
    assert found["clone3"] == "ENOSYS"
    assert found["namespace"] == "EPERM"
    assert found["families"] == {
        "1": "made", "2": "made", "16": "made", "17": "EAFNOSUPPORT", "38": "EAFNOSUPPORT", "40": "EAFNOSUPPORT",
    }  # fmt: skip
    assert found["fork"] == 7


@pytest.mark.jail
def test_the_filter_is_on_where_it_can_be(tmp_path: Path) -> None:
    """The way taken here has the filter."""
    if platform.machine() not in HEADERS:
        pytest.skip("no filter for this machine")
    python = host_interpreter()
    spec = JailSpec((str(python.program), "-I", "-S", "-c", ""), {}, python.paths, python.hidden)
    assert find_jailer(spec).filtered is True
