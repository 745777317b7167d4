#!/usr/bin/env python3
"""Checks the statement of a closed period: python3 verify_statement.py STATEMENT.json DIGEST

DIGEST is that of the close, as it was kept when the period was closed. Needs Python 3.8 and its standard library.
Ends with 0 and "authentic", or with 1 and the reason why not.
"""
import hashlib
import json
import re
import sys
import unicodedata

NO_DECIMALS = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split()
THREE_DECIMALS = "BHD IQD JOD KWD LYD OMR TND".split()
FOUR_DECIMALS = "CLF UYW".split()
TENANT_FORMAT = "usage-ledger/tenant-statement/1"


def sha256(data):
    return hashlib.sha256(data).digest()


def demand(holds, reason):
    if not holds:
        sys.exit("not authentic: " + reason)


def once(pairs):
    demand(len(dict(pairs)) == len(pairs), "a key stands twice")
    return dict(pairs)


def compact(text):
    return re.sub(r'("(?:[^"\\]|\\.)*")|[ \t\n\r]+', lambda found: found[1] or "", text)


def escape(character):
    risky = "\x7f" <= character <= "\x9f" or character in "\u2028\u2029" or unicodedata.category(character) == "Cf"
    units = character.encode("utf-16-be").hex() if risky else ""
    return "".join("\\u" + units[at : at + 4] for at in range(0, len(units), 4)) or character


def write(value):
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return "".join(map(escape, text))


def leads_to_root(proof, size, root):
    """Whether it does: a bit of the index is 1 where the leaf's side is the right one. Of old closes: RFC 9162, 2.1.3.2."""
    node = proof["index"]
    hashes = all(re.fullmatch("[0-9a-f]{64}", hash) for hash in proof["path"])
    if type(node) is not int or not hashes or node < 0 or (size is not None and node >= size):
        return False
    found = sha256(b"\0" + proof["leaf"].encode())
    path = [bytes.fromhex(hash) for hash in proof["path"]]
    if size is None:
        for sibling in path:
            found = sha256(b"\1" + (sibling + found if node % 2 else found + sibling))
            node //= 2
        return node == 0 and found.hex() == root
    last = size - 1
    for sibling in path:
        if last == 0:
            return False
        if node % 2 == 1 or node == last:
            found = sha256(b"\1" + sibling + found)
            while node % 2 == 0 and node > 0:
                node, last = node // 2, last // 2
        else:
            found = sha256(b"\1" + found + sibling)
        node, last = node // 2, last // 2
    return last == 0 and found.hex() == root


def number(text):
    return None if text is None else int(text)


def money(minor, currency):
    digits = 0 if currency in NO_DECIMALS else 3 if currency in THREE_DECIMALS else 4 if currency in FOUR_DECIMALS else 2
    text = str(abs(minor)).rjust(digits + 1, "0")
    return ("-" if minor < 0 else "") + (text[:-digits] + "." + text[-digits:] if digits else text)


def line_of(leaf):
    kind, tier, credits, unit_credits, unit_price, minor, currency, card, corrects, entry = leaf
    return {
        "kind": kind, "tier": number(tier), "credits": number(credits), "unit_credits": number(unit_credits),
        "unit_price": unit_price, "amount_minor": number(minor),
        "amount": None if minor is None else money(int(minor), currency),
        "currency": currency, "rate_card": card, "corrects_period": corrects, "entry_id": number(entry),
    }


def totals_of(lines):
    sums = {}
    for line in lines:
        if line["amount_minor"] is not None:
            sums[line["currency"]] = sums.get(line["currency"], 0) + line["amount_minor"]
    return [{"currency": code, "amount_minor": sums[code], "amount": money(sums[code], code)} for code in sorted(sums)]


def told(leaf, kind, count):
    """What a leaf says behind its tag, and behind its salt if it has one."""
    tag, *rest = json.loads(leaf)
    demand(tag in ["usage-ledger/%s/1" % kind, "usage-ledger/%s/2" % kind], "a leaf is of no " + kind)
    rest = rest[int(tag[-1]) - 1 :]
    demand(len(rest) == count, "a leaf says more or less than it can")
    return rest


def tenant_of(proof):
    tenant, name, reference, credits, requests, lines = told(proof["leaf"], "tenant", 6)
    lines = [line_of(line) for line in lines]
    return {
        "tenant_id": tenant, "display_name": name, "external_ref": reference, "credits_used": int(credits),
        "request_count": int(requests), "projected_credits": None, "totals": totals_of(lines), "lines": lines,
        "proof": {"index": proof["index"], "leaf": proof["leaf"], "path": proof["path"]},
    }


def statement_of(given, digest):
    """What the statement must say, from its proof alone."""
    proof = given["proof"]
    demand(sha256((proof["close"] + "\n").encode()).hex() == digest, "its close has another digest than was kept")
    close = json.loads(proof["close"])
    root, leaf_count, more, size = close[-1], close[-2], {}, None
    if "internal" in proof:
        more = {"internal": proof["internal"], "nonce": proof["nonce"]}
        hash = sha256(bytes.fromhex(proof["nonce"]) + proof["internal"].encode()).hex()
        demand(close[-2] == hash, "the close has another internal part")
        leaf_count = json.loads(proof["internal"])[-1]
    else:
        size = leaf_count
    demand(type(leaf_count) is int, "it does not say how many leaves there are")
    header = told(proof["period"]["leaf"], "period", 3)
    demand(close[2] == "close", "it stands on no close")
    demand(header[:2] == close[3:5], "the close is of another period or workspace")
    leaves = [proof["period"]] + [tenant["proof"] for tenant in given["tenants"]]
    demand(len({leaf["index"] for leaf in leaves}) == len(leaves), "it lists a tenant twice")
    demand(all(leads_to_root(leaf, size, root) for leaf in leaves), "a leaf does not lead to the root of the close")
    tenants = [tenant_of(leaf) for leaf in leaves[1:]]
    run = header[2]
    return {
        "format": "usage-ledger/statement/" + ("2" if more else "1"), "workspace_id": header[0], "period": header[1],
        "state": "closed",
        "estimate": False, "as_of": close[5],
        "certificate": run and {"run_id": run[0], "finished_at": run[1], "records": int(run[2]), "digest": run[3]},
        "head_digest": digest, "tenants_in_period": leaf_count - 1,
        "credits_used": sum(tenant["credits_used"] for tenant in tenants),
        "totals": totals_of([line for tenant in tenants for line in tenant["lines"]]), "tenants": tenants,
        "proof": {
            "close": proof["close"], **more, "close_digest": digest, "root": root, "leaves": leaf_count,
            "period": {key: proof["period"][key] for key in ("index", "leaf", "path")},
        },
    }


def tenant_statement_of(given, digest):
    """The same of what was made for its tenant, with the public part of the close's line alone."""
    proof = given["proof"]
    demand(sha256((proof["close"] + "\n").encode()).hex() == digest, "its close has another digest than was kept")
    close = json.loads(proof["close"])
    demand(len(close) == 8 and close[2] == "close", "it stands on no close that a tenant is shown")
    demand(leads_to_root(proof["tenant"], None, close[7]), "its leaf does not lead to the root of the close")
    own = tenant_of(proof["tenant"])
    leaf = own.pop("proof")
    return {
        "format": TENANT_FORMAT, "workspace_id": close[3], "period": close[4], "state": "closed", "estimate": False,
        "as_of": close[5], **own,
        "proof": {"close": proof["close"], "close_digest": digest, "root": close[7], "tenant": leaf},
    }


def main(file, digest):
    with open(file, encoding="utf-8", newline="") as source:
        text = source.read()
    try:
        given = json.loads(text, object_pairs_hook=once)
        make = tenant_statement_of if given["format"] == TENANT_FORMAT else statement_of
        expected = write(make(given, digest.lower()))
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        expected = None
    demand(expected is not None, "parts of it are missing or of another kind")
    demand(compact(text) == expected, "it says something else than the proof does")
    print("authentic")


main(*sys.argv[1:])
