"""Fixed sentences for language models. Models repeat a call that looks failed, so only what certainly did not happen may look so."""

from dataclasses import dataclass

from .status import Status


@dataclass(frozen=True)
class ForModel:
    """A tool's answer. `is_error` is true only where it is certain that nothing happened."""

    text: str
    is_error: bool = False

    def __str__(self) -> str:
        return self.text


def _what(status: Status) -> str:
    return status.summary or f"{status.operation} at {status.destination}"


def words_for_done(status: Status | None, receipt: str | None) -> ForModel:
    assert status is not None
    reference = f", reference {receipt}" if receipt else ""
    if status.joined:
        return ForModel(f"This was already done ({_what(status)}{reference}); nothing was sent again. Action {status.id}.")
    return ForModel(f"Done: {_what(status)}{reference}. Action {status.id}.")


def words_for_not_done(status: Status | None, because: str, try_again: bool) -> ForModel:
    if status is None and try_again:
        return ForModel(f"Not done: {because}. Nothing was recorded or sent. Calling again with the same request_key is safe.", is_error=True)
    if status is None:
        return ForModel(f"Not done: {because}. Nothing was recorded or sent.", is_error=True)
    return ForModel(f"Not done: {because}. Nothing happened. Repeating the same call gives the same answer. Action {status.id}.", is_error=True)


def words_for_pending(status: Status | None) -> ForModel:
    assert status is not None
    return ForModel(
        "Not finished yet. Do not call this tool again for the same request. Check with get_action "
        f"{status.id} in about 5 s. Do not say that it is done. You may say: {status.statement.say}"
    )


def words_for_unknown(status: Status | None, key: str) -> ForModel:
    if status is None:
        return ForModel(
            "Not known whether the request was taken: the connection broke. It may be carried out. "
            f'If it is repeated, use the same request_key "{key}": it cannot happen twice then. Do not say that it is done, or that it failed.'
        )
    if status.closed is not None:
        return ForModel(
            "Whether it happened can no longer be found out; a person has ended the search. Do not repeat it. "
            f"You may say: {status.statement.say} Action {status.id}."
        )
    if status.next.do == "review":
        return ForModel(
            "Whether it happened could not be determined automatically. A person has to check. Do not call this tool again. "
            f"You may say: {status.statement.say} Action {status.id}."
        )
    return ForModel(
        "Outcome not known: it was sent and the answer was lost. It may or may not exist. Do not call this tool again. "
        f"Say that it is being checked; get_action {status.id} has the answer. You may say: {status.statement.say}"
    )


def words_for_possible_duplicate(earlier: str | None) -> ForModel:
    where = f" ({earlier})" if earlier else ""
    return ForModel(
        f"Not sent: the same was already asked for a moment ago{where}. If a second one is really wanted, call again with another=true."
    )
