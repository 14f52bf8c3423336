"""A file system that answers until it is told not to: one folder with one file, by FUSE's own protocol, served
by a thread of the test (needs root and /dev/fuse)."""

import ctypes
import os
import stat
import struct
import threading

from harness import Skip, scratch

_LOOKUP, _FORGET, _GETATTR, _OPEN, _READ, _RELEASE = 1, 2, 3, 14, 15, 18
_FLUSH, _INIT, _OPENDIR, _RELEASEDIR, _INTERRUPT, _BATCH_FORGET = 25, 26, 27, 29, 36, 42
_HEADER = struct.Struct("<IIQQIIIHH")
_LONG = 3600
_MS_DETACH, _MNT_FORCE = 2, 1
_ENOSYS, _ENOENT = -38, -2

_libc = ctypes.CDLL(None, use_errno=True)


class SilentFiles:
    """`path` is the file's, with these contents. After silence() no request is answered any more."""

    def __init__(self, name, contents):
        self._name, self._contents = name.encode(), contents
        self._silent = threading.Event()
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            raise Skip("needs root and /dev/fuse")
        self._folder = scratch()
        self._fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self._fd},rootmode=40000,user_id=0,group_id=0"
        if _libc.mount(b"fuse", str(self._folder).encode(), b"fuse", 0, options.encode()) != 0:
            os.close(self._fd)
            raise Skip(f"FUSE cannot be mounted: {os.strerror(ctypes.get_errno())}")
        self.path = self._folder / name
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def silence(self):
        self._silent.set()

    def abort(self):
        """Whoever waits gets an error."""
        _libc.umount2(str(self._folder).encode(), _MS_DETACH | _MNT_FORCE)

    def __enter__(self):
        return self

    def __exit__(self, *ignored):
        self.abort()
        os.close(self._fd)

    def _attributes(self, node):
        mode, size = (stat.S_IFDIR | 0o755, 0) if node == 1 else (stat.S_IFREG | 0o755, len(self._contents))
        return struct.pack("<QQQQQQIIIIIIIIII", node, size, (size + 511) // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0,
                           4096, 0)

    def _answer(self, operation, node, body):
        """(error, reply); None: no reply belongs to it."""
        if operation == _INIT:
            return 0, struct.pack("<IIIIHHIIHHI7I", 7, 31, 131072, 0, 16, 12, 131072, 1, 32, 0, *[0] * 8)
        if operation == _LOOKUP:
            if body.rstrip(b"\0") != self._name:
                return _ENOENT, b""
            return 0, struct.pack("<QQQQII", 2, 0, _LONG, _LONG, 0, 0) + self._attributes(2)
        if operation == _GETATTR:
            return 0, struct.pack("<QII", _LONG, 0, 0) + self._attributes(node)
        if operation in (_OPEN, _OPENDIR):
            return 0, struct.pack("<QII", 1, 2, 0)
        if operation == _READ:
            offset, size = struct.unpack_from("<QI", body, 8)
            return 0, self._contents[offset:offset + size]
        if operation in (_FLUSH, _RELEASE, _RELEASEDIR):
            return 0, b""
        if operation in (_FORGET, _BATCH_FORGET, _INTERRUPT):
            return None
        return _ENOSYS, b""

    def _serve(self):
        while True:
            try:
                request = os.read(self._fd, 1 << 18)
            except OSError:
                return
            _, operation, unique, node, *_ = _HEADER.unpack_from(request)
            answer = self._answer(operation, node, request[_HEADER.size:])
            if answer is None or self._silent.is_set():
                continue
            error, reply = answer
            try:
                os.write(self._fd, struct.pack("<IiQ", 16 + len(reply), error, unique) + reply)
            except OSError:
                return
