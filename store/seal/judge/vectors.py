"""Checks that verify.py agrees with the vectors:  vectors.py VECTORS.json"""
import base64, hashlib, json, pathlib, sys
import verify
from verify import pem

vectors = json.loads(pathlib.Path(sys.argv[1]).read_text())
keys = [pem.load_pem_public_key(vectors["key"].encode())]
failed = []


def expect(name: str, condition: bool) -> None:
    if not condition:
        failed.append(name)


for leaf in vectors["leaves"]:
    kind, data = verify.KINDS.index(leaf["kind"]), base64.b64decode(leaf["data"])
    made = verify.leaf(leaf["position"], kind, leaf["arrived"], leaf["stream"], data)
    hash = base64.b64encode(verify.hash_leaf(made, leaf["position"])).decode()
    expect(leaf["name"], (base64.b64encode(made).decode(), hash) == (leaf["leaf"], leaf["hash"]))
sizes = {tree["size"] for tree in vectors["roots"]}
leaves = [(verify.sha256(b"\0", b"%d" % (n + 1)), 1) for n in range(max(sizes))]
roots = verify.roots(leaves, sizes) | verify.roots([])
for tree in vectors["roots"]:
    expect(f"the root of {tree['size']}", base64.b64encode(roots[tree["size"]]).decode() == tree["root"])
checkpoint = verify.checkpoint(vectors["checkpoint"].encode(), keys)
tenant, thread = vectors["tenant"].encode(), vectors["thread"].encode()
expect("trusted", checkpoint.trusted)
expect("tenant", checkpoint.tenant == hashlib.sha256(tenant).hexdigest())
expect("thread", checkpoint.thread == hashlib.sha256(thread).hexdigest())
expect("origin", checkpoint.origin.endswith("/" + hashlib.sha256(tenant + b"\0" + thread).hexdigest()))
for proof in vectors["proofs"]:
    result = verify.proof(proof["proof"].encode(), keys)
    expect(proof["name"], (result["verdict"], result["first"], result["last"]) == ("proved", proof["first"], proof["last"]))
for refused in vectors["refused"]:
    check = verify.checkpoint if refused["name"].startswith("a checkpoint") else verify.proof
    try:
        check(refused["file"].encode(), keys)
        expect(refused["name"], False)
    except verify.MALFORMED:
        pass
print(json.dumps({"checked": sum(len(vectors[key]) for key in ("leaves", "roots", "proofs", "refused")), "failed": failed}))
