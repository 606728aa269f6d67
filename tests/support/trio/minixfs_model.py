"""Random operations on files: what a file system must answer, and what must be in it then."""

from __future__ import annotations

import errno
from dataclasses import dataclass, field
from random import Random

from kernometer.faults.minixfs import ROOT
from tests.support.trio.minixfs import Driver, pattern

NAMES = ["a", "b", "c", "d", "name-of-twenty-bytes", "x" * 60]
LINES = [
    "create", "create", "create", "mkdir", "write", "write", "write", "truncate", "link", "unlink", "unlink", "rename",
    "rename", "rename", "symlink", "lookup", "read", "release", "sync", "tick",
]  # fmt: skip  # as a table


#: For cuts of power: names go from sector to sector, and little else happens.
MORE_NAMES = [f"n{each}" for each in range(20)]
MOVES = [
    *["rename"] * 12,
    "create",
    "create",
    "create",
    "mkdir",
    "link",
    "link",
    "unlink",
    "unlink",
    "write",
    "release",
    "sync",
]


@dataclass
class Node:
    number: int
    kind: str
    data: bytearray = field(default_factory=bytearray)
    entries: dict[str, Node] = field(default_factory=dict)
    links: int = 1
    holds: int = 0
    parent: Node | None = None
    # The operation that changed it, its names or its content last; and the last that changed its content.
    touched: int = 0
    written: int = 0

    def within(self, other: Node) -> bool:
        at: Node | None = self
        while at is not None:
            if at is other:
                return True
            at = at.parent
        return False


class Model:
    """Says each operation to the driver and to itself, and compares."""

    def __init__(self, driver: Driver, seed: int, most: int = 40_000, moves: bool = False) -> None:
        self.driver, self.random, self.most = driver, Random(seed), most
        self.names, self.lines = (MORE_NAMES, MOVES) if moves else (NAMES, LINES)
        self.root = Node(ROOT, "dir", links=2)
        self.nodes = [self.root]
        self.count = 0
        # Directories that went from one directory to another.
        self.moved: set[int] = set()

    def expect(self, line: str, wanted: int) -> list[str]:
        got = self.driver.say(line)
        assert int(got[0]) == wanted, f"{line}: {got[0]}, wanted {wanted}"
        return got

    def directories(self) -> list[Node]:
        return [each for each in self.nodes if each.kind == "dir" and (each.links > 0)]

    def files(self) -> list[Node]:
        return [each for each in self.nodes if each.kind == "file" and (each.links > 0 or each.holds > 0)]

    def step(self) -> None:
        self.count += 1
        getattr(self, "_" + self.random.choice(self.lines))()

    def touch(self, *nodes: Node) -> None:
        for each in nodes:
            each.touched = self.count

    def _create(self, kind: str = "file", mode: str = "100644") -> None:
        d, name = self.random.choice(self.directories()), self.random.choice(self.names)
        line = f"create {d.number} {mode} {name}"
        if name in d.entries:
            self.expect(line, -errno.EEXIST)
            return
        node = Node(int(self.expect(line, 0)[1]), kind, parent=d, holds=1)
        assert all(each.number != node.number for each in self.nodes if each.links or each.holds), "a number used twice"
        d.entries[name] = node
        self.nodes.append(node)
        if kind == "dir":
            node.links = 2
            d.links += 1
        self.touch(d, node)

    def _mkdir(self) -> None:
        self._create("dir", "40755")

    def _symlink(self) -> None:
        d, name = self.random.choice(self.directories()), self.random.choice(self.names)
        target = "t" * self.random.randrange(1, 200)
        line = f"symlink {d.number} {name} {target}"
        if name in d.entries:
            self.expect(line, -errno.EEXIST)
            return
        self.expect(line, 0)
        number = int(self.expect(f"lookup {d.number} {name}", 0)[1])
        self.expect(f"release {number}", 0)
        node = Node(number, "link", bytearray(target.encode()), parent=d)
        d.entries[name] = node
        self.nodes.append(node)
        self.touch(d, node)

    def _write(self) -> None:
        if not (files := self.files()):
            return
        node, seed = self.random.choice(files), self.random.randrange(1000)
        offset = self.random.choice([0, len(node.data), self.random.randrange(self.most)])
        length = self.random.choice([1, 100, 1024, self.random.randrange(1, 5000)])
        self.expect(f"write {node.number} {offset} {length} {seed}", length)
        node.data.extend(bytes(max(offset - len(node.data), 0)))
        node.data[offset : offset + length] = pattern(seed, offset, length)
        self.touch(node)
        node.written = self.count

    def _read(self) -> None:
        if not (files := self.files()):
            return
        node = self.random.choice(files)
        offset, length = self.random.randrange(len(node.data) + 10), self.random.randrange(1, 9000)
        wanted = bytes(node.data[offset : offset + length])
        got = self.expect(f"read {node.number} {offset} {length}", len(wanted))
        assert "".join(got[1:]) == wanted.hex()

    def _truncate(self) -> None:
        if not (files := self.files()):
            return
        node = self.random.choice(files)
        size = self.random.choice([0, len(node.data) // 2, self.random.randrange(self.most)])
        self.expect(f"truncate {node.number} {size}", 0)
        del node.data[size:]
        node.data.extend(bytes(size - len(node.data)))
        self.touch(node)
        node.written = self.count

    def _link(self) -> None:
        if not (files := self.files()):
            return
        d, name, node = (
            self.random.choice(self.directories()),
            self.random.choice(self.names),
            self.random.choice(files),
        )
        line = f"link {d.number} {node.number} {name}"
        if node.links == 0:
            self.expect(line, -errno.ENOENT)
        elif name in d.entries:
            self.expect(line, -errno.EEXIST)
        else:
            self.expect(line, 0)
            d.entries[name] = node
            node.links += 1
            self.touch(d, node)

    def lose(self, d: Node, node: Node) -> None:
        if node.kind == "dir":
            node.links = 0
            d.links -= 1
            node.parent = None
        else:
            node.links -= 1
        self.touch(d, node)

    def _unlink(self) -> None:
        d, name = self.random.choice(self.directories()), self.random.choice(self.names)
        node, directory = d.entries.get(name), self.random.randrange(2)
        line = f"unlink {d.number} {directory} {name}"
        if node is None:
            self.expect(line, -errno.ENOENT)
        elif directory != (node.kind == "dir"):
            self.expect(line, -(errno.ENOTDIR if directory else errno.EISDIR))
        elif node.entries:
            self.expect(line, -errno.ENOTEMPTY)
        else:
            self.expect(line, 0)
            del d.entries[name]
            self.lose(d, node)

    def refusal(self, node: Node, to: Node, other: Node | None) -> int:
        if node.kind == "dir" and to.within(node):
            return errno.EINVAL
        if other is None or other is node:
            return 0
        if node.kind == "dir":
            return errno.ENOTDIR if other.kind != "dir" else errno.ENOTEMPTY if other.entries else 0
        return errno.EISDIR if other.kind == "dir" else 0

    def _rename(self) -> None:
        d, to = self.random.choice(self.directories()), self.random.choice(self.directories())
        name, new = self.random.choice(self.names), self.random.choice(self.names)
        node, other = d.entries.get(name), to.entries.get(new)
        line = f"rename {d.number} {name} {to.number} {new}"
        if node is None:
            self.expect(line, -errno.ENOENT)
            return
        wrong = self.refusal(node, to, other)
        if wrong:
            self.expect(line, -wrong)
            return
        self.expect(line, 0)
        if other is node:
            return
        del d.entries[name]
        to.entries[new] = node
        if other is not None:
            self.lose(to, other)
        if node.kind == "dir":
            node.parent = to
            if d is not to:
                self.moved.add(node.number)
                d.links -= 1
                to.links += 1
        self.touch(d, to, node)

    def _lookup(self) -> None:
        d, name = self.random.choice(self.directories()), self.random.choice(self.names)
        node = d.entries.get(name)
        if node is None:
            self.expect(f"lookup {d.number} {name}", -errno.ENOENT)
            return
        assert int(self.expect(f"lookup {d.number} {name}", 0)[1]) == node.number
        node.holds += 1
        got = self.expect(f"attributes {node.number}", 0)
        assert int(got[2]) == node.links
        assert node.kind == "dir" or int(got[3]) == len(node.data)

    def _release(self) -> None:
        held = [each for each in self.nodes if each.holds > 0]
        if held:
            node = self.random.choice(held)
            self.expect(f"release {node.number}", 0)
            node.holds -= 1
            self.nodes = [each for each in self.nodes if each.links or each.holds]

    def _sync(self) -> None:
        if self.random.randrange(4) == 0:
            self.expect("sync 0", 0)

    def _tick(self) -> None:
        if self.random.randrange(4) == 0:
            self.expect("tick", 0)

    def release_all(self) -> None:
        for node in self.nodes:
            for _ in range(node.holds):
                self.expect(f"release {node.number}", 0)
            node.holds = 0
        self.nodes = [each for each in self.nodes if each.links]

    def paths(self) -> dict[str, Node]:
        found: dict[str, Node] = {}

        def walk(d: Node, path: str) -> None:
            found[path or "/"] = d
            for name, node in d.entries.items():
                if node.kind == "dir":
                    walk(node, f"{path}/{name}")
                else:
                    found[f"{path}/{name}"] = node

        walk(self.root, "")
        return found

    def tree(self) -> dict[str, bytes | None]:
        return {path: None if node.kind == "dir" else bytes(node.data) for path, node in self.paths().items()}
