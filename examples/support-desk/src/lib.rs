//! Support desk: a bot that opens tickets for customers, and says no more than is known about each of them.
//!
//! The conversation is scripted ([`script`]); no language model is needed for it. The bot's words about a ticket are the
//! engine's statement, word for word, never its own. [`play`] runs over a [`Desk`]: the library embedded, or the HTTP API.

mod script;

use std::future::Future;

pub use script::{Click, Turn, script};

/// A ticket that a customer asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// The identity: the turn of the conversation that asks for it. A repeat of the same turn joins; another turn is another
    /// ticket, even in the same words.
    pub key: String,
    /// In which conversation.
    pub conversation: String,
    /// At which turn.
    pub turn: u64,
    /// In the customer's words.
    pub asked: String,
    /// The ticket's subject.
    pub subject: String,
}

/// What the engine says about a ticket at this moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The action's id.
    pub id: String,
    /// The submission joined an earlier one: nothing was sent again.
    pub joined: bool,
    /// One of the nine states.
    pub state: String,
    /// May be said to the customer as it stands.
    pub say: String,
    /// The customer's route, while a colleague has to decide.
    pub contact: Option<String>,
    /// Nothing more happens by itself.
    pub rests: bool,
}

/// The engine, seen from the bot; and the destination's own books, which only a demonstration can look into.
pub trait Desk: Sync {
    /// Asks for a ticket. The same key joins.
    fn submit(&self, ticket: &Ticket) -> impl Future<Output = anyhow::Result<Standing>> + Send;
    /// Says how a ticket stands as soon as that is another thing than was known last, or after a moment.
    fn news(&self, last: &Standing) -> impl Future<Output = anyhow::Result<Standing>> + Send;
    /// How many tickets the destination holds under this name, where that can be seen.
    fn held(&self, key: &str) -> impl Future<Output = Option<u64>> + Send;
}

/// One line of the transcript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The conversation.
    pub conversation: String,
    /// What the customer said or did, where this line begins with that.
    pub customer: Option<String>,
    /// What the bot says.
    pub bot: String,
    /// What the destination really holds at this moment, where that can be seen.
    pub held: Option<u64>,
}

impl Line {
    /// As it is printed: what is said, beside what is true.
    #[must_use]
    pub fn print(&self) -> String {
        let held = match self.held {
            None => "not visible from here".to_owned(),
            Some(1) => "1 ticket".to_owned(),
            Some(tickets) => format!("{tickets} tickets"),
        };
        let customer = self
            .customer
            .as_ref()
            .map(|words| format!("{}: {words}\n", self.conversation))
            .unwrap_or_default();
        format!(
            "{customer}{}: bot: {}   [the destination holds: {held}]",
            self.conversation, self.bot
        )
    }
}

/// Plays the script, and follows every ticket until it rests or `patience` says that it is enough. Answers what each ticket's
/// key ended as, in the order of the script; joined turns are not repeated.
///
/// # Errors
/// What the desk could not do.
pub async fn play(
    desk: &impl Desk,
    patience: impl Fn() -> bool + Send,
    mut show: impl FnMut(&Line) + Send,
) -> anyhow::Result<Vec<(Ticket, Standing)>> {
    let mut tickets: Vec<(Ticket, Standing)> = Vec::new();
    for turn in script() {
        let standing = match turn.click {
            Click::Once => desk.submit(&turn.ticket).await?,
            Click::Twice => {
                let (first, second) =
                    tokio::try_join!(desk.submit(&turn.ticket), desk.submit(&turn.ticket))?;
                anyhow::ensure!(
                    first.id == second.id,
                    "a double click made two actions: {} and {}",
                    first.id,
                    second.id
                );
                second
            }
        };
        show(&line(desk, &turn.ticket, Some(turn.words()), &standing).await);
        tickets.push((turn.ticket, standing));
    }
    while tickets.iter().any(|(_, standing)| !standing.rests) && patience() {
        for (ticket, standing) in tickets.iter_mut().filter(|(_, standing)| !standing.rests) {
            let news = desk.news(standing).await?;
            if news.say != standing.say {
                show(&line(desk, ticket, None, &news).await);
            }
            *standing = news;
        }
    }
    Ok(tickets)
}

async fn line(
    desk: &impl Desk,
    ticket: &Ticket,
    customer: Option<String>,
    standing: &Standing,
) -> Line {
    let route = standing
        .contact
        .as_ref()
        .map(|contact| format!(" {contact}"))
        .unwrap_or_default();
    Line {
        conversation: ticket.conversation.clone(),
        customer,
        bot: format!("{}{route}", standing.say),
        held: desk.held(&ticket.key).await,
    }
}
