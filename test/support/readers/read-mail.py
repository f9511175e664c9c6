"""Reads one mail from standard input as Python's email package reads it; writes JSON."""

import email
import email.policy
import hashlib
import json
import sys


def addresses(message, name):
    return [[one.display_name, one.addr_spec] for one in message[name].addresses] if message[name] else []


def names(message):
    return [part.get_filename() for part in message.walk()]


def leaves(part, above, out):
    kind = part.get_content_type()
    path = above + [kind]
    if part.is_multipart():
        for inner in part.get_payload():
            leaves(inner, path, out)
        return
    body = part.get_payload(decode=True)
    shown = part.get_content_disposition() != "attachment" and kind in ("text/plain", "text/html", "text/calendar")
    out.append(
        {
            "path": ">".join(path),
            "disposition": part.get_content_disposition() or "",
            "filename": part.get_filename() or "",
            "contentId": (part["Content-ID"] or "").strip(),
            "charset": part.get_param("charset", "") if kind.startswith("text/") else "",
            "method": part.get_param("method", ""),
            "sha256": hashlib.sha256(body).hexdigest(),
            "text": part.get_content().replace("\r\n", "\n") if shown else "",
        }
    )


raw = sys.stdin.buffer.read()
message = email.message_from_bytes(raw, policy=email.policy.default)
parts = []
leaves(message, [], parts)
json.dump(
    {
        "subject": str(message["Subject"]),
        "from": addresses(message, "From"),
        "replyTo": addresses(message, "Reply-To"),
        "to": addresses(message, "To"),
        "cc": addresses(message, "Cc"),
        "references": str(message["References"] or "").split(),
        "listId": str(message["List-Id"] or ""),
        "parts": parts,
        "faults": [type(fault).__name__ for part in message.walk() for fault in part.defects]
        + ([] if names(message) == names(email.message_from_bytes(raw)) else ["the older API reads other file names"]),
    },
    sys.stdout,
)
