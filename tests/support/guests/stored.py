"""A guest in the cache."""

from __future__ import annotations

from kernometer.cache import sha256
from kernometer.guests import store


def made(name: str, kernel: bytes = b"kernel") -> store.Guest:
    with store.new_folder() as folder:
        (folder / store.KERNEL).write_bytes(kernel)
        manifest = store.Manifest(
            name=name,
            package="linux-image-6.1.0-9-amd64",
            version="6.1.27-1",
            release="6.1.0-9-amd64",
            package_sha256="0",
            kernel_sha256=sha256(kernel),
            kernel_bytes=len(kernel),
        )
        return store.keep(folder, manifest)
