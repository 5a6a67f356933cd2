# What may be said about an action, per state, reason and reader: the message itself to the customer, `.agent` to the program or model
# that speaks with them, `.operator` to staff. $reference is the destination's reference, $because the reason in the destination's or
# a person's words, $count how many effects were seen. `claims/en.toml` says which words claim something.

recorded = Your request is recorded. It has not been sent yet.
    .agent = Recorded, not sent yet. Nothing has happened at the destination so far. Do not submit it again.
    .operator = Recorded; nothing has been sent.
being-sent = Your request is being sent now.
    .agent = Being sent now; the outcome is not known yet. Do not submit it again, and do not say that it is done.
    .operator = A request is in flight; the outcome is not known yet.
accepted-by-them = Your request has been accepted. It is not completed yet.
    .agent = Accepted by the destination, not completed yet. Do not submit it again, and do not say that it is done.
    .operator = Accepted by the destination; its completion is being followed.
accepted-checked-by-person = Your request has been accepted. A colleague is checking whether it was completed.
    .agent = Accepted by the destination; a person checks whether it was completed. Do not submit it again, and do not say that it is done.
    .operator = Accepted by the destination; its completion cannot be learned, and a person decides.
done = Done.
    .agent = Done.
    .operator = The effect exists at the destination.
done-reference = Done. The reference is { $reference }.
    .agent = Done, reference { $reference }.
    .operator = The effect exists at the destination, reference { $reference }.
done-after-all = Correction: it has been done after all.
    .agent = Correction of what was said before: it has been done.
    .operator = Settled otherwise before; the effect exists.
done-after-all-reference = Correction: it has been done after all. The reference is { $reference }.
    .agent = Correction of what was said before: it has been done, reference { $reference }.
    .operator = Settled otherwise before; the effect exists, reference { $reference }.
done-perhaps-twice = It has been done, perhaps more than once: { $count ->
        [one] one result was
       *[other] { $count } results were
    } found. A colleague is looking into it.
    .agent = Done, perhaps more than once: { $count ->
        [one] one effect was
       *[other] { $count } effects were
    } seen. A person looks into it. Do not submit it again.
    .operator = { $count ->
        [one] One effect was
       *[other] { $count } effects were
    } seen at the destination, where one was wanted.
done-and-reversed = It had been done and has been undone since.
    .agent = It had been done and was undone since. Do not submit it again unless that is asked for.
    .operator = The effect existed and was undone later.
will-be-tried-again = It has not been done yet. It will be tried again.
    .agent = Not done yet; it will be tried again by itself. Do not submit it again.
    .operator = Proven that nothing has happened so far; another attempt is due.
held = It has not been done yet. A colleague decides whether it is sent.
    .agent = Not done yet; a person decides whether it is sent. Do not submit it again.
    .operator = Nothing has happened so far; a person decides whether it is sent.
not-done = It was not done.
    .agent = Not done.
    .operator = Not done; nothing happened, as far as the evidence or a person's word goes.
not-done-because = It was not done. The reason: { $because }.
    .agent = Not done. The reason: { $because }.
    .operator = Not done; nothing happened, as far as the evidence or a person's word goes: { $because }.
unknown-being-checked = It is not known yet whether it went through. This is being checked.
    .agent = Not known yet whether it went through: it was sent and the answer was lost. The system is checking. Do not submit it again. Say that it is being checked.
    .operator = A request may have taken effect; the engine is finding out.
unknown-checked-by-person = It is not known yet whether it went through. A colleague is checking.
    .agent = Not known yet whether it went through, and the system cannot find out; a person is checking. Do not submit it again. Say that it is being checked.
    .operator = A request may have taken effect; a person has to find out.
unknown-for-good = It can no longer be found out whether it went through.
    .agent = It can no longer be found out whether it went through. Do not submit it again, and claim neither.
    .operator = The search was ended without an answer.
withdrawn = It was withdrawn. Nothing was done.
    .agent = Withdrawn; nothing was done.
    .operator = Withdrawn, with proof that nothing happened.
not-in-time = It was not done in time. Nothing was done.
    .agent = Not done in time; nothing was done.
    .operator = The deadline passed, with proof that nothing happened.

# A proposal: content that people decide on before anything is sent. Once it is approved, its action's own statement says how it stands.

proposal-pending = Your request is waiting for approval. It has not been sent yet.
    .agent = Waiting for an approval; nothing has been sent yet. Do not submit it again, and do not say that it is done.
    .operator = Waits for a decision; nothing has been sent.
proposal-approved = Your request has been approved.
    .agent = Approved. How it stands is said by the statement of its action.
    .operator = Approved; see its action.
proposal-declined = Your request was not approved. It has not been sent.
    .agent = Not approved; nothing has been sent.
    .operator = Declined, or withdrawn by whoever asked; nothing has been sent.
proposal-superseded = Your request was changed. The earlier version has not been sent.
    .agent = Another content took its place; nothing of this one has been sent. Speak of the newer one.
    .operator = Superseded; nothing of this one has been sent.
proposal-expired = Your request was not approved in time. It has not been sent.
    .agent = Nobody decided in time; nothing has been sent.
    .operator = Nobody decided in time; nothing has been sent.

# What may not be said, nor anything of the same meaning.

never-done = It is done.
never-done-too = Your request went through.
never-failed = It failed.
never-failed-too = Nothing was done.
never-again = Please try again.

# A conversation was told $told, and $now is so. $summary is the action's one line for people.

correction = Correction. You were told: “{ $told }” That no longer holds. { $now }
    .agent = Pass this on as a correction. The customer was told: “{ $told }” That no longer holds. Now: { $now }
    .operator = The conversation was told: “{ $told }” The evidence now supports: { $now }
correction-about = Correction about “{ $summary }”. You were told: “{ $told }” That no longer holds. { $now }
    .agent = Pass this on as a correction about “{ $summary }”. The customer was told: “{ $told }” That no longer holds. Now: { $now }
    .operator = “{ $summary }”: the conversation was told: “{ $told }” The evidence now supports: { $now }
news = There is news about your request. { $now }
    .agent = Pass this on: { $now }
    .operator = The conversation has not heard yet: { $now }
news-about = There is news about “{ $summary }”. { $now }
    .agent = Pass this on about “{ $summary }”: { $now }
    .operator = “{ $summary }”: the conversation has not heard yet: { $now }

# The customer's route while a person decides. $route is in the operator's words, $when as in `date-time`.

contact-by = { $route } You will have an answer by { $when }.
contact-late = { $route } You were promised an answer by { $when }. It is late, and we have been reminded.

# An instant. All but $zone are numbers; $hour and $minute have two digits.

date-time = { $day } { $month ->
        [1] January
        [2] February
        [3] March
        [4] April
        [5] May
        [6] June
        [7] July
        [8] August
        [9] September
        [10] October
        [11] November
       *[12] December
    } { $year }, { $hour }:{ $minute } ({ $zone })
