"""The system calls a jailed program has no use for, as a filter the kernel runs (classic BPF, by the standard library).

What is denied reaches over the jail's wall or far into the kernel: namespaces, mounts, other processes, keys, kernel
code, clocks, asynchronous rings, sockets of families that no namespace holds. All else a Python program needs.
"""

from __future__ import annotations

import errno
import struct

_DENIED = {
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "unshare": (272, 97),
    "setns": (308, 268),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "settimeofday": (164, 170),
    "adjtimex": (159, 171),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "syslog": (103, 116),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "personality": (135, 92),
    "lookup_dcookie": (212, 18),
    "vhangup": (153, 58),
    "fanotify_init": (300, 262),
    "memfd_create": (319, 279),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "get_mempolicy": (239, 236),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "mknodat": (259, 33),
    "splice": (275, 76),
    "tee": (276, 77),
    "vmsplice": (278, 75),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "quotactl_fd": (443, 443),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "pidfd_getfd": (438, 438),
    "process_madvise": (440, 440),
    "memfd_secret": (447, 447),
    "open_tree_attr": (467, 467),
}
"""Name, number on x86_64, number on aarch64."""

_X86_ALONE = {
    "mknod": 133,
    "uselib": 134,
    "sysfs": 139,
    "modify_ldt": 154,
    "_sysctl": 156,
    "iopl": 172,
    "ioperm": 173,
    "nfsservctl": 180,
}

_X32_BIT = 0x40000000
_NAMESPACES = 0x7E020000
"""The flags of clone that make a namespace."""

_FAMILIES = (1, 2, 10, 16)
"""Sockets that stay inside the jail's network namespace: unix, IPv4, IPv6, netlink."""

_ARCHITECTURES = {"x86_64": (0xC000003E, 0, 56, 41), "aarch64": (0xC00000B7, 1, 220, 198)}
"""Machine: the kernel's mark, the column above, the numbers of clone and socket."""

_CLONE3 = 435
_ALLOW, _KILL, _REFUSE = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _AND, _RETURN = 0x20, 0x15, 0x35, 0x54, 0x06
_NUMBER, _MACHINE, _FIRST_ARGUMENT = 0, 4, 16


def filter_program(machine: str, *, sockets: bool = True) -> bytes | None:
    """Return the filter for a machine as `platform.machine()` names it, or None where its calls are not known.

    Without `sockets` none can be made: there is no namespace that would keep them in.
    """
    if machine not in _ARCHITECTURES:
        return None
    mark, _, clone, socket = _ARCHITECTURES[machine]
    code = [_op(_LOAD, _MACHINE), _op(_EQUAL, mark, 1, 0), _op(_RETURN, _KILL), _op(_LOAD, _NUMBER)]
    if machine == "x86_64":
        code += [_op(_AT_LEAST, _X32_BIT, 0, 1), _refused(errno.ENOSYS)]
    for number in denied_calls(machine).values():
        code += [_op(_EQUAL, number, 0, 1), _refused(errno.EPERM)]
    code += [_op(_EQUAL, _CLONE3, 0, 1), _refused(errno.ENOSYS)]  # its flags lie in memory; libraries then use clone
    code += [_op(_EQUAL, clone, 0, 4), _op(_LOAD, _FIRST_ARGUMENT), _op(_AND, _NAMESPACES), _op(_EQUAL, 0, 1, 0)]
    code += [_refused(errno.EPERM), _op(_LOAD, _NUMBER)]
    code += [_op(_EQUAL, socket, 1, 0), _op(_RETURN, _ALLOW), _op(_LOAD, _FIRST_ARGUMENT)]
    for family in _FAMILIES if sockets else ():
        code += [_op(_EQUAL, family, 0, 1), _op(_RETURN, _ALLOW)]
    return b"".join([*code, _refused(errno.EAFNOSUPPORT)])


def denied_calls(machine: str) -> dict[str, int]:
    """Return the denied calls of a machine by name, with their numbers."""
    column = _ARCHITECTURES[machine][1]
    return {name: numbers[column] for name, numbers in _DENIED.items()} | (_X86_ALONE if column == 0 else {})


def _op(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return one instruction; the jumps count the instructions to skip."""
    return struct.pack("=HBBI", code, if_true, if_false, value)


def _refused(number: int) -> bytes:
    """Return the instruction that lets a call fail with an error number."""
    return _op(_RETURN, _REFUSE | number)
