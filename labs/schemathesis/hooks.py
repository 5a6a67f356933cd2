"""What schemathesis cannot know from the document: names that are there, and refusals that no JSON Schema can say."""

import re

import schemathesis
from schemathesis.specs.openapi.checks import positive_data_acceptance

# Refusals of well-formed requests, by code. Everything that a schema can say is said there and is no excuse here; what a destination,
# a store or another part of the request decides is refused with 404, 409 or 422, which need none.
EXCUSED = {
    "F1004": "the identity may come from the header Idempotency-Key alone",
    "F1016": "the header and the body name an identity each",
}


def excused(problem):
    rule = problem.get("rule", "")
    return (
        problem.get("code") in EXCUSED
        # JSON Schema counts characters; what names an effect is counted in bytes.
        or (problem.get("code") in ("F1003", "F1011", "F1002") and " bytes" in rule)
        # Which version was handed out is known to the store alone.
        or (problem.get("member") == "/statement" and "handed out" in rule)
        # To JSON Schema 24.0 is a whole number; here numbers are as they are written.
        or re.match(r"invalid type: floating point `-?\d+\.0`", rule)
        # What a report has to say depends on its outcome.
        or (problem.get("member") in ("/receipt", "/why") and rule == "it is missing")
        # A hold or an erasure is about one thing, named by one of several members.
        or "about exactly one of" in rule
        # Whether a verdict may have a receipt depends on the verdict.
        or (problem.get("member") == "/receipt" and "says nothing about an effect" in rule)
        # What an export has to look like depends on the form that is named beside it.
        or (re.match("/export|/columns", problem.get("member", "")) and problem.get("code") == "F1003")
        # The pattern of an id allows a first character that no id of 128 bits begins with.
        or "is `pro_` followed by 26 characters" in rule
        # Years that RFC 3339 can write and no clock shows.
        or (problem.get("code") == "F1003" and "is no instant" in rule)
    )


@schemathesis.check
def valid_data_is_taken(ctx, response, case):
    """positive_data_acceptance, but for the refusals above."""
    # What is not kept any more is known to the store alone.
    if response.status_code == 410:
        return None
    if response.status_code in (400, 422):
        try:
            problem = response.json()
        except ValueError:
            problem = {}
        if response.status_code == 422 or excused(problem):
            return None
    return positive_data_acceptance(ctx, response, case)


@schemathesis.hook
def map_query(ctx, query):
    """Nobody waits long for what does not come."""
    if isinstance(query, dict) and isinstance(query.get("wait"), int) and 1 < query["wait"] <= 60:
        query["wait"] = 1
    return query


PLACES = {"destination": "bed", "principal": "boss"}


def in_form(value):
    """Replacing what is wrong on purpose would hide it."""
    return isinstance(value, str) and value.isprintable() and value.strip() and len(value) < 100


@schemathesis.hook
def map_body(ctx, body):
    """Every other body names what is there, so that it gets beyond the first look."""
    if isinstance(body, dict) and len(str(body)) % 2:
        for member, name in PLACES.items():
            if in_form(body.get(member)):
                body[member] = name
        if body.get("destination") == PLACES["destination"] and in_form(body.get("operation")):
            body["operation"] = "neither.sync"
    return body


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """Nor in the phases that make their requests from examples."""
    if case.query and str(case.query.get("wait", "")).isdigit() and 1 < int(case.query["wait"]) <= 60:
        case.query["wait"] = 1
