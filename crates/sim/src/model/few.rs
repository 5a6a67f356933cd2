//! A short list that is copied with its world: no allocation, and equal lists are equal bytes.

use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

/// At most `N` things.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Few<T, const N: usize> {
    things: [T; N],
    len: u8,
}

impl<T: Copy + Default, const N: usize> Default for Few<T, N> {
    fn default() -> Self {
        Self {
            things: [T::default(); N],
            len: 0,
        }
    }
}

impl<T: Copy, const N: usize> Few<T, N> {
    /// Adds one more. A setting in which there are more than `N` is too large for the model, and stops it.
    pub(crate) fn push(&mut self, thing: T) {
        self.things[usize::from(self.len)] = thing;
        self.len += 1;
    }

    /// Takes one out; the others keep their order.
    pub(crate) fn remove(&mut self, at: u8) -> T {
        let (at, len) = (usize::from(at), usize::from(self.len));
        let thing = self.things[at];
        self.things.copy_within(at + 1..len, at);
        self.len -= 1;
        thing
    }

    /// Keeps those that are wanted.
    pub(crate) fn retain(&mut self, wanted: impl Fn(&T) -> bool) {
        let mut kept = 0;
        for at in 0..usize::from(self.len) {
            if wanted(&self.things[at]) {
                self.things[usize::from(kept)] = self.things[at];
                kept += 1;
            }
        }
        self.len = kept;
    }

    /// With their places.
    pub(crate) fn numbered(&self) -> impl Iterator<Item = (u8, &T)> {
        (0u8..).zip(self.iter())
    }
}

impl<T, const N: usize> Deref for Few<T, N> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.things[..usize::from(self.len)]
    }
}

impl<T, const N: usize> DerefMut for Few<T, N> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.things[..usize::from(self.len)]
    }
}

impl<T: Hash, const N: usize> Hash for Few<T, N> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u8(self.len);
        for thing in self.iter() {
            thing.hash(state);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_a_list() {
        let mut few = Few::<u8, 4>::default();
        for n in 1..=4 {
            few.push(n);
        }
        assert_eq!((few.remove(1), &few[..]), (2, &[1, 3, 4][..]));
        few.retain(|n| *n != 3);
        assert_eq!(&few[..], &[1, 4]);
    }
}
