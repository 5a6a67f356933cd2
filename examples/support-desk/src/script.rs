//! The scripted conversation: who asks for what, and how often they click.

use crate::Ticket;

/// How the customer sends a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Click {
    /// Once.
    Once,
    /// Twice within a blink: the same turn, so the same key.
    Twice,
}

/// A turn of a conversation that asks for a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// What is asked for.
    pub ticket: Ticket,
    /// How it is sent.
    pub click: Click,
}

impl Turn {
    fn new(customer: &str, turn: u64, asked: &str, subject: &str, click: Click) -> Self {
        let ticket = Ticket {
            key: format!("conv-{customer}/turn-{turn}/ticket"),
            conversation: format!("conv-{customer}"),
            turn,
            asked: asked.to_owned(),
            subject: subject.to_owned(),
        };
        Self { ticket, click }
    }

    /// What the transcript shows of it.
    #[must_use]
    pub fn words(&self) -> String {
        match self.click {
            Click::Once => self.ticket.asked.clone(),
            Click::Twice => format!("{} (clicks twice)", self.ticket.asked),
        }
    }
}

/// Three customers. Ben clicks twice and gets one ticket; Ana asks for a second one in the same words, later, and gets two.
#[must_use]
pub fn script() -> Vec<Turn> {
    let refund = "Please open a ticket for the refund of order 77.";
    vec![
        Turn::new("ana", 1, refund, "Refund of order 77", Click::Once),
        Turn::new(
            "ben",
            1,
            "My parcel is lost, open a ticket.",
            "Parcel lost",
            Click::Twice,
        ),
        Turn::new(
            "cyd",
            1,
            "I cannot sign in any more.",
            "Cannot sign in",
            Click::Once,
        ),
        Turn::new("ana", 2, refund, "Refund of order 77", Click::Once),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_turn_has_a_key_of_its_own_even_in_the_same_words() {
        let turns = script();
        let keys: std::collections::BTreeSet<&str> =
            turns.iter().map(|turn| turn.ticket.key.as_str()).collect();
        assert_eq!(keys.len(), turns.len());
        assert_eq!(turns[0].ticket.asked, turns[3].ticket.asked);
        assert!(turns.iter().any(|turn| turn.click == Click::Twice));
    }
}
