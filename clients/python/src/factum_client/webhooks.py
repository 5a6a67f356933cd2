"""Webhooks that Factum sends, checked as Standard Webhooks says: whose they are, and that they are not old."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from typing import Any

#: How far a timestamp may be away, in seconds.
TOLERANCE = 300


class Forged(Exception):
    """Not signed with the endpoint's secret, or too old. Answer 400 and do nothing."""


def verify(body: bytes, headers: Mapping[str, str], *secrets: str, now: float | None = None) -> Any:
    """The JSON of a webhook whose signature fits one of the secrets (`whsec_…`; two while a secret is rotated).

    `webhook-id` names the message: it may come more than once, so take it once.
    """
    lower = {name.lower(): value for name, value in headers.items()}
    try:
        message, stamp, signatures = lower["webhook-id"], lower["webhook-timestamp"], lower["webhook-signature"]
        at = int(stamp)
    except (KeyError, ValueError) as error:
        raise Forged("a header is missing or malformed: webhook-id, webhook-timestamp and webhook-signature are needed") from error
    if abs((time.time() if now is None else now) - at) > TOLERANCE:
        raise Forged(f"webhook-timestamp is more than {TOLERANCE} s away")
    signed = b".".join([message.encode(), stamp.encode(), body])
    for secret in secrets:
        key = base64.b64decode(secret.removeprefix("whsec_"))
        wanted = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest())
        for signature in signatures.split():
            version, _, value = signature.partition(",")
            if version == "v1" and hmac.compare_digest(wanted, value.encode()):
                return json.loads(body)
    raise Forged("no signature fits")
