//! Carrying the faults out: how much of an answer the caller gets, and how the connection ends.

use std::time::Duration;

use factum_faults::Fault;
use tokio::time::sleep;

use crate::answer::{Answer, Body};
use crate::shared::Shared;
use crate::wire::{Trouble, Wire};

/// What becomes of the connection after an exchange.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Then {
    Next,
    Close,
    Reset,
}

/// How a connection ends whose request gets no answer and is not acted upon.
pub(super) async fn unanswered(fault: Fault) -> Then {
    match fault {
        Fault::HangInAccept { ms } => {
            sleep(Duration::from_millis(ms)).await;
            Then::Reset
        }
        Fault::Refuse | Fault::CloseUnread => Then::Reset,
        _ => Then::Close,
    }
}

/// Gives the caller as much of the answer as the fault lets through.
pub(super) async fn give(
    shared: &Shared,
    wire: &mut Wire,
    answer: &Answer,
    fault: Fault,
    keep_alive: bool,
) -> Result<Then, Trouble> {
    let another = match fault {
        Fault::CloseFin => return Ok(Then::Close),
        Fault::CloseRst => return Ok(Then::Reset),
        Fault::CutHead => {
            wire.send_part_of_head(answer).await?;
            return Ok(Then::Close);
        }
        Fault::CutBody => {
            wire.send_part_of_body(answer).await?;
            return Ok(Then::Close);
        }
        Fault::LateAnswer { ms } => {
            sleep(Duration::from_millis(ms)).await;
            None
        }
        Fault::Empty2xx => Some(Answer {
            status: 200,
            headers: Vec::new(),
            body: Body::Empty,
        }),
        Fault::Garbage => Some(Answer {
            status: 200,
            headers: Vec::new(),
            body: Body::Html(PAGE_OF_NOBODY),
        }),
        Fault::Status { code } => Some(Answer::server_error(code)),
        Fault::Redirect { code } => {
            let moved = Answer {
                status: code,
                headers: Vec::new(),
                body: Body::Empty,
            };
            Some(moved.with("Location", "/elsewhere"))
        }
        Fault::TooMany429 => {
            let message = "too many requests";
            Some(Answer::error(429, "throttled", message).with("Retry-After", retry_after(shared)))
        }
        _ => None,
    };
    wire.send(another.as_ref().unwrap_or(answer), keep_alive)
        .await?;
    Ok(if keep_alive { Then::Next } else { Then::Close })
}

/// What `garbage` answers: a page that a proxy or a login wall would give.
const PAGE_OF_NOBODY: &str =
    "<html><body><h1>Welcome</h1><p>Please sign in to go on.</p></body></html>\n";

pub(super) fn busy(shared: &Shared, code: u16) -> Answer {
    Answer::error(code, "busy", "too busy to take the request")
        .with("Retry-After", retry_after(shared))
}

fn retry_after(shared: &Shared) -> String {
    shared.see(|world| world.settings.retry_after_s.to_string())
}
