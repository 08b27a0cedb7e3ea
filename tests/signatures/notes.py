"""Signed notes by others: `theirs NOTE PUB…` has a verifier of another author check a note, `make SEALED PUB NOTE` writes one
from the specification (c2sp.org/signed-note) alone."""

import base64
import hashlib
import json
import pathlib
import sys

import metamorphic_log
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey


def theirs(note: str, *publics: str) -> None:
    text = pathlib.Path(note).read_text(encoding="utf-8")
    keys = [pathlib.Path(public).read_text(encoding="utf-8").strip() for public in publics]
    assert metamorphic_log.verify_signed_note(text, keys) == len(keys)
    for changed in (text.replace("\n6\n", "\n5\n"), text.replace("complete", "open")):
        assert changed != text
        try:
            metamorphic_log.verify_signed_note(changed, keys)
        except metamorphic_log.VerifyError:
            continue
        raise AssertionError("a changed note passed")


def make(sealed: str, public: str, note: str) -> None:
    data = pathlib.Path(sealed).read_bytes()
    links = [json.loads(line) for line in data.splitlines()]
    head = base64.b64encode(bytes.fromhex(links[-1]["digest"])).decode()
    text = f"toolreplay/seal/v2\n{len(links)}\n{head}\nfile sha256:{hashlib.sha256(data).hexdigest()}\nstate complete\n"
    name, key = "example.com/their", Ed25519PrivateKey.generate()
    typed = b"\x01" + key.public_key().public_bytes_raw()
    key_id = hashlib.sha256(name.encode() + b"\n" + typed).digest()[:4]
    signature = base64.b64encode(key_id + key.sign(text.encode())).decode()
    pathlib.Path(note).write_text(f"{text}\n\u2014 {name} {signature}\n", encoding="utf-8")
    pathlib.Path(public).write_text(f"{name}+{key_id.hex()}+{base64.b64encode(typed).decode()}\n", encoding="utf-8")


if __name__ == "__main__":
    {"theirs": theirs, "make": make}[sys.argv[1]](*sys.argv[2:])
