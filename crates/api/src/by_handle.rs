//! What is behind a handle.

/// Which entry of a list a handle stands for, by the handle's index.
#[derive(Clone, Debug, Default)]
pub struct ByHandle(Vec<usize>);

/// Instead of an entry, where there is none.
const NONE: usize = usize::MAX;

impl ByHandle {
    /// The handle with this index stands for an entry, and for no other.
    pub fn set(&mut self, index: usize, entry: usize) {
        if self.0.len() <= index {
            self.0.resize(index + 1, NONE);
        }
        self.0[index] = entry;
    }

    /// The entry that it stands for.
    #[inline]
    pub fn get(&self, index: usize) -> Option<usize> {
        self.0.get(index).copied().filter(|entry| *entry != NONE)
    }

    /// The entry that it stood for; it stands for none any more.
    pub fn take(&mut self, index: usize) -> Option<usize> {
        let place = self.0.get_mut(index)?;
        Some(std::mem::replace(place, NONE)).filter(|entry| *entry != NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_handle_stands_for_what_was_set_last_until_it_is_taken() {
        let mut by_handle = ByHandle::default();
        by_handle.set(3, 7);
        by_handle.set(3, 8);
        assert_eq!((by_handle.get(3), by_handle.get(2), by_handle.get(4)), (Some(8), None, None));
        assert_eq!(
            (by_handle.take(3), by_handle.take(3), by_handle.take(9)),
            (Some(8), None, None)
        );
    }
}
