//! How many connections each machine holds, so that one of them cannot hold all.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The connections of each machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Peers {
    held: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection; it counts until this is dropped.
#[derive(Debug)]
pub(crate) struct Held {
    peers: Peers,
    address: IpAddr,
}

impl Peers {
    /// One more connection from a machine, unless it holds `max` already. This machine is not limited: a proxy on it speaks for all.
    pub(crate) fn hold(&self, address: IpAddr, max: usize) -> Option<Held> {
        let address = address.to_canonical();
        let mut held = self.lock();
        let count = held.entry(address).or_default();
        if *count >= max && !address.is_loopback() {
            return None;
        }
        *count += 1;
        drop(held);
        Some(Held {
            peers: self.clone(),
            address,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut held = self.peers.lock();
        if let Some(count) = held.get_mut(&self.address) {
            *count -= 1;
            if *count == 0 {
                held.remove(&self.address);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_holds_so_many_and_others_are_not_held_up() {
        let peers = Peers::default();
        let hold = |address: &str| peers.hold(address.parse().unwrap(), 2);
        let (first, second) = (hold("192.0.2.1"), hold("192.0.2.1"));
        assert!(first.is_some() && second.is_some());
        assert!(hold("192.0.2.1").is_none());
        assert!(
            hold("::ffff:192.0.2.1").is_none(),
            "the same machine in other words"
        );
        assert!(hold("192.0.2.2").is_some());
        drop(first);
        let third = hold("192.0.2.1");
        assert!(third.is_some() && hold("192.0.2.1").is_none());
        drop((second, third));
        assert!(peers.lock().is_empty(), "nothing is kept of who left");
    }

    #[test]
    fn this_machine_is_not_limited() {
        let peers = Peers::default();
        let held: Vec<_> = (0..5)
            .map(|_| peers.hold("127.0.0.1".parse().unwrap(), 2))
            .collect();
        assert!(held.iter().all(Option::is_some));
    }
}
