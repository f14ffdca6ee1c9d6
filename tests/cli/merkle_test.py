#!/usr/bin/env python3
"""Merkle trees of every hash and kind against a plain program of its own: Keccak and BLAKE3 written out here and tested with
published values, SHA-256 of hashlib. Usage: merkle_test.py BINARY [unittest arguments]."""

import hashlib
import struct
import unittest

import binary
from binary import THOROUGH
from suites_test import Suite

M64, M32 = 2**64 - 1, 2**32 - 1


def keccak256(message, padding=1):
    rotated = lambda x, n: (x << n | x >> (64 - n)) & M64 if n else x
    rest = 136 - len(message) % 136
    message += bytes([padding | 0x80]) if rest == 1 else bytes([padding]) + bytes(rest - 2) + b"\x80"
    a = [[0] * 5 for _ in range(5)]  # a[x][y]
    for at in range(0, len(message), 136):
        for i, lane in enumerate(struct.unpack("<17Q", message[at:at + 136])):
            a[i % 5][i // 5] ^= lane
        r = 1
        for _ in range(24):
            c = [a[x][0] ^ a[x][1] ^ a[x][2] ^ a[x][3] ^ a[x][4] for x in range(5)]
            d = [c[x - 1] ^ rotated(c[(x + 1) % 5], 1) for x in range(5)]
            a = [[a[x][y] ^ d[x] for y in range(5)] for x in range(5)]
            x, y, now = 1, 0, a[1][0]
            for t in range(24):
                x, y = y, (2 * x + 3 * y) % 5
                now, a[x][y] = a[x][y], rotated(now, (t + 1) * (t + 2) // 2 % 64)
            a = [[a[x][y] ^ (~a[(x + 1) % 5][y] & a[(x + 2) % 5][y]) for y in range(5)] for x in range(5)]
            for j in range(7):
                r = (r << 1 ^ (r >> 7) * 0x71) % 256
                if r & 2:
                    a[0][0] ^= 1 << (1 << j) - 1
    return struct.pack("<4Q", *(a[x][0] for x in range(4)))


IV = (0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19)


def blake3(message):
    def compress(chain, block, counter, length, flags):
        m = list(struct.unpack("<16I", block.ljust(64, b"\0")))
        v = [*chain, *IV[:4], counter & M32, counter >> 32, length, flags]

        def mix(a, b, c, d, words):
            for x, first, second in zip(words, (16, 8), (12, 7)):
                v[a] = (v[a] + v[b] + x) & M32
                v[d] ^= v[a]
                v[d] = (v[d] >> first | v[d] << (32 - first)) & M32
                v[c] = (v[c] + v[d]) & M32
                v[b] ^= v[c]
                v[b] = (v[b] >> second | v[b] << (32 - second)) & M32

        for _ in range(7):
            for i in range(4):
                mix(i, 4 + i, 8 + i, 12 + i, m[2 * i:2 * i + 2])
            for i in range(4):
                mix(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4, m[8 + 2 * i:10 + 2 * i])
            m = [m[i] for i in (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)]
        return [v[i] ^ v[i + 8] for i in range(8)]

    def over(part, chunk, root):
        if len(part) > 1024:
            left = 1024 << ((len(part) - 1) // 1024).bit_length() - 1
            both = over(part[:left], chunk, 0) + over(part[left:], chunk + left // 1024, 0)
            return compress(IV, struct.pack("<16I", *both), 0, 64, 4 | root)
        chain = IV
        for at in range(0, max(len(part), 1), 64):
            flags = (at == 0) | (2 | root if at + 64 >= len(part) else 0)
            chain = compress(chain, part[at:at + 64], chunk, len(part[at:at + 64]), flags)
        return chain

    return struct.pack("<8I", *over(message, 0, 8))


def sha256(message):
    return hashlib.sha256(message).digest()


HASHES = {"sha256": sha256, "keccak256": keccak256, "blake3": blake3}


def leaves_of(seedless_count, length):
    """Returns the leaves of --seed 0: the bytes of splitmix64."""
    def splitmix(i):
        z = (i + 1) * 0x9E3779B97F4A7C15 & M64
        z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & M64
        z = (z ^ z >> 27) * 0x94D049BB133111EB & M64
        return z ^ z >> 31
    words = (seedless_count * length + 7) // 8
    content = struct.pack(f"<{words}Q", *map(splitmix, range(words)))
    return [content[i * length:(i + 1) * length] for i in range(seedless_count)]


def root_of(leaves, tree, hash_name):
    h = HASHES[hash_name]
    if tree == "bitcoin":
        while len(leaves) > 1:
            leaves = leaves + leaves[-1:] * (len(leaves) % 2)
            leaves = [h(h(a + b)) for a, b in zip(leaves[::2], leaves[1::2])]
        return leaves[0]
    prefixes = (b"\0", b"\1") if tree == "rfc6962" else (b"", b"")

    def over(nodes):
        if len(nodes) == 1:
            return nodes[0]
        left = 1 << (len(nodes) - 1).bit_length() - 1
        return h(prefixes[1] + over(nodes[:left]) + over(nodes[left:]))

    return over(leaves if tree == "plain" else [h(prefixes[0] + leaf) for leaf in leaves])


def vectors():
    """Returns [(hash, message, digest)], and the transactions and root of a block."""
    hashes, txids, root = [], [], None
    for line in (binary.HERE.parent / "data/hash_vectors.txt").read_text().splitlines():
        word, *rest = line.split()
        if word in HASHES:
            text, star, times = rest[0].rpartition("*")
            message = text.encode() * int(times) if star else bytes(i % 251 for i in range(int(times)))
            hashes.append((word, message, rest[1]))
        elif word in ("txid", "root"):
            digest = bytes.fromhex(rest[0])[::-1]
            if word == "txid":
                txids.append(digest)
            else:
                root = digest
    return hashes, txids, root


class Hashes(unittest.TestCase):
    def test_published_values(self):
        hashes, txids, root = vectors()
        self.assertEqual(len(hashes), 43)
        for name, message, digest in hashes:
            if len(message) <= (10**6 if THOROUGH else 3073) or name == "sha256":
                self.assertEqual(HASHES[name](message).hex(), digest, (name, len(message)))
        for length in (0, 1, 134, 135, 136, 137, 271, 272, 400):
            message = bytes(range(200)) * 2
            self.assertEqual(keccak256(message[:length], 6), hashlib.sha3_256(message[:length]).digest())
        self.assertEqual(root_of(txids, "bitcoin", "sha256"), root)


class Trees(Suite):
    def check(self, tree, hash_name, count, length, *more):
        words = ["--tree", tree, "--hash", hash_name, "--size", count, "--leaf-bytes", length, "--seed", 0]
        # Each tree and hash is a kernel, which PoCL compiles for each device.
        devices = binary.DEVICES if (THOROUGH and tree != "hashed") or tree == "bitcoin" else binary.ONE_DEVICE
        runs = self.runs_of("merkle", *words, *(more or ("-s", "equal")), devices=devices)
        expected = root_of(leaves_of(count, length), tree, hash_name).hex()
        self.assertEqual({run["verify"]["digest"] for run in runs}, {expected}, words)
        return runs

    def test_roots_are_those_of_this_program(self):
        several = ("--mode", "both", "-s", "all,auto" if THOROUGH else "equal,dynamic")
        for hash_name in ("keccak256", "blake3"):
            for run in self.check("plain", hash_name, 1100, 32, *several):
                self.assertEqual((run["params"]["hash"], "leaf-bytes" in run["params"]), (hash_name, False))
            self.check("rfc6962", hash_name, 37, 32)
        for hash_name, length in (("sha256", 119), ("keccak256", 272), ("blake3", 1025)):
            run, = self.check("hashed", hash_name, 37, length)
            self.assertEqual((run["params"]["leaf-bytes"], run["work"]["bytes_in"]), (length, 37 * length))
            self.check("rfc6962", hash_name, 70, length - 1, *several)
        for count in (1, 2, 33, 1100):
            runs = self.check("bitcoin", "sha256", count, 32, *(several if count > 33 else ()))
        self.assertNotIn("hash", runs[0]["params"])

    def test_a_block_of_bitcoin_has_its_root_on_any_devices(self):
        _, txids, root = vectors()
        file, saved = self.folder / "txids", self.folder / "root"
        file.write_bytes(b"".join(txids))
        for devices in (binary.ONE_DEVICE, binary.DEVICES):
            for run in self.runs_of("merkle", "--tree", "bitcoin", "--input", file, "--save-data", saved, "-s", "equal",
                                    devices=devices):
                self.assertEqual((run["params"]["leaves"], run["verify"]["digest"]), (9, root.hex()))
            self.assertEqual(saved.read_text().strip(), root.hex())

    def test_files_have_leaves_of_any_length_and_a_short_last_one(self):
        content = bytes(i * 7 % 251 for i in range(137 * 40 + 5))
        file = self.folder / "leaves"
        file.write_bytes(content)
        leaves = [content[i:i + 137] for i in range(0, len(content), 137)]
        for hash_name in HASHES:
            run = self.one("merkle", "--input", file, "--tree", "hashed", "--hash", hash_name, "--leaf-bytes", 137)
            self.assertEqual((run["params"]["leaves"], run["verify"]["digest"]),
                             (41, root_of(leaves, "hashed", hash_name).hex()))
        run = self.one("merkle", "--input", file, "--tree", "rfc6962", "--leaf-bytes", 137, "--pad")
        leaves[-1] = leaves[-1].ljust(137, b"\0")
        self.assertEqual(run["verify"]["digest"], root_of(leaves, "rfc6962", "sha256").hex())
        for words, *said in ((["--input", file], "the 32 of a leaf", "rfc6962 or hashed"),
                             (["--leaf-bytes", 137], "--tree plain are digests of 32 bytes"),
                             (["--tree", "hashed", "--leaf-bytes", 0], "1 to 1073741824"),
                             (["--tree", "bitcoin", "--hash", "blake3"], "--hash sha256")):
            self.refused(["run", "merkle", *words], 2, *said)


if __name__ == "__main__":
    binary.main()
