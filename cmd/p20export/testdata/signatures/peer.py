"""Signs and verifies DSSE envelopes with securesystemslib, and reads in-toto statements:

peer.py verify ENVELOPE THRESHOLD PUBLIC-KEY...   prints the ids of the keys that signed
peer.py sign PAYLOAD KEY...                       prints an envelope
peer.py statement RECORD-ENVELOPE                 prints the type of the predicate and the subjects

It fails if an envelope or a statement is not valid.
"""

import json
import pathlib
import sys

from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key
from google.protobuf import json_format
from in_toto_attestation.v1 import statement_pb2
from in_toto_attestation.v1.statement import Statement
from securesystemslib.dsse import Envelope
from securesystemslib.signer import CryptoSigner, SSlibKey

PAYLOAD_TYPE = "application/vnd.in-toto+json"


def verify(envelope: Envelope, threshold: str, *paths: str) -> str:
    keys = [SSlibKey.from_crypto(load_pem_public_key(pathlib.Path(path).read_bytes())) for path in paths]
    # Envelope.verify stops when enough keys have signed.
    assert envelope.verify(keys, int(threshold))
    signers = [key.keyid for key in keys if key.keyid in envelope.signatures]
    assert len(signers) >= int(threshold)
    return "\n".join(signers)


def sign(payload: bytes, *paths: str) -> str:
    envelope = Envelope(payload, PAYLOAD_TYPE, {})
    for path in paths:
        envelope.sign(CryptoSigner(load_pem_private_key(pathlib.Path(path).read_bytes(), None)))
    return json.dumps(envelope.to_dict(), indent=2)


def statement(envelope: Envelope) -> str:
    assert envelope.payload_type == PAYLOAD_TYPE
    parsed = json_format.Parse(envelope.payload, statement_pb2.Statement())
    Statement.copy_from_pb(parsed).validate()
    subjects = [f"{s.name} sha256:{s.digest['sha256']}" for s in parsed.subject]
    return "\n".join([parsed.predicate_type, *subjects])


def main() -> None:
    command, path, *args = sys.argv[1:]
    data = pathlib.Path(path).read_bytes()
    if command == "sign":
        print(sign(data, *args))
        return
    envelope = Envelope.from_dict(json.loads(data))
    print({"verify": verify, "statement": statement}[command](envelope, *args))


main()
