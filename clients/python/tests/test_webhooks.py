"""Signatures against the published example of Standard Webhooks, and what must be refused."""

import base64
import hashlib
import hmac

import pytest

from factum_client.webhooks import Forged, verify

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
BODY = b'{"test": 2432232314}'
HEADERS = {
    "Webhook-Id": "msg_p5jXN8AQM9LWM0D4loKWxJek",
    "Webhook-Timestamp": "1614265330",
    "Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
}
AT = 1614265330.0


def test_the_published_example_fits():
    assert verify(BODY, HEADERS, SECRET, now=AT) == {"test": 2432232314}


def test_one_of_several_secrets_and_signatures_is_enough():
    other = "whsec_" + base64.b64encode(b"another secret").decode()
    both = {**HEADERS, "Webhook-Signature": "v1,AAAA " + HEADERS["Webhook-Signature"]}
    assert verify(BODY, both, other, SECRET, now=AT)


@pytest.mark.parametrize("change", [
    {"Webhook-Signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OF="},
    {"Webhook-Signature": "v2,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
    {"Webhook-Id": "msg_other"},
    {"Webhook-Timestamp": "1614265331"},
    {"Webhook-Timestamp": "soon"},
])
def test_a_changed_message_is_refused(change):
    with pytest.raises(Forged):
        verify(BODY, {**HEADERS, **change}, SECRET, now=AT)


def test_an_old_message_and_one_without_headers_are_refused():
    with pytest.raises(Forged, match="300 s"):
        verify(BODY, HEADERS, SECRET, now=AT + 301)
    with pytest.raises(Forged, match="missing"):
        verify(BODY, {}, SECRET, now=AT)


def test_a_body_changed_by_one_byte_is_refused():
    signed = hmac.new(base64.b64decode(SECRET[6:]), b"msg_p5jXN8AQM9LWM0D4loKWxJek.1614265330." + BODY, hashlib.sha256).digest()
    assert HEADERS["Webhook-Signature"] == "v1," + base64.b64encode(signed).decode()
    with pytest.raises(Forged):
        verify(BODY.replace(b"2", b"3", 1), HEADERS, SECRET, now=AT)
