//! What one consumer may hear of one item, and what it may not.
//!
//! The number of an item counts its updates at the source, so it says by itself
//! whether one was lost, repeated or swapped. How a hole may come about is part
//! of it: a consumer that was told that its item is stale, that got another
//! image, or whose update is a merged one, knows; anything else is a loss
//! without notice.

use std::fmt;

/// How an item stands at a consumer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standing {
    /// No image, or the connection that brought it is lost.
    #[default]
    Waiting,
    /// Open, ok.
    Ok,
    /// Open, suspect.
    Suspect,
}

/// What must not be heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breach {
    /// Updates are missing, and the consumer was told nothing: the last number
    /// before the hole, and the first behind it.
    Lost {
        /// The last number before the hole.
        after: u32,
        /// The first behind it.
        until: u32,
    },
    /// A number again, or a smaller one.
    Back {
        /// The number before.
        from: u32,
        /// The number that came.
        to: u32,
    },
    /// An update before there was an image.
    Bare(u32),
    /// The stream ended, which is for servers to prevent.
    Closed,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost { after, until } => write!(f, "lost without notice: {until} after {after}"),
            Self::Back { from, to } => write!(f, "back: {to} after {from}"),
            Self::Bare(number) => write!(f, "bare: update {number} before an image"),
            Self::Closed => write!(f, "closed"),
        }
    }
}

/// One item at one consumer.
///
/// ```
/// use tapeline_chaos::market::{Account, Breach};
///
/// let mut account = Account::default();
/// assert_eq!(account.image(7, true), None);
/// assert_eq!(account.update(8, false), None);
/// assert_eq!(account.update(10, false), Some(Breach::Lost { after: 8, until: 10 }));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Account {
    standing: Standing,
    number: u32,
    /// Updates were missed while the item was suspect: only an image can make
    /// it ok again.
    is_torn: bool,
}

impl Account {
    /// How it stands.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// The last number that was heard.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// An image came.
    pub fn image(&mut self, number: u32, is_ok: bool) -> Option<Breach> {
        let is_back = self.standing == Standing::Ok && number < self.number;
        let breach = is_back.then_some(Breach::Back { from: self.number, to: number });
        self.standing = if is_ok { Standing::Ok } else { Standing::Suspect };
        self.number = number;
        self.is_torn = false;
        breach
    }

    /// An update came, which may be several that were merged.
    pub fn update(&mut self, number: u32, is_merged: bool) -> Option<Breach> {
        if self.standing == Standing::Waiting {
            return Some(Breach::Bare(number));
        }
        let from = std::mem::replace(&mut self.number, number);
        let has_hole = number > from.wrapping_add(1) && !is_merged;
        if number <= from {
            return Some(Breach::Back { from, to: number });
        }
        if self.standing == Standing::Suspect {
            self.is_torn |= has_hole;
            return None;
        }
        has_hole.then_some(Breach::Lost { after: from, until: number })
    }

    /// A state came without an image.
    pub fn state(&mut self, is_ok: bool) -> Option<Breach> {
        if self.standing == Standing::Waiting {
            return None;
        }
        self.standing = if is_ok { Standing::Ok } else { Standing::Suspect };
        let is_torn = is_ok && std::mem::take(&mut self.is_torn);
        is_torn.then_some(Breach::Lost { after: self.number, until: self.number })
    }

    /// The connection is lost.
    pub fn down(&mut self) {
        self.standing = Standing::Waiting;
        self.is_torn = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(number: u32) -> Account {
        let mut account = Account::default();
        assert_eq!(account.image(number, true), None);
        account
    }

    #[test]
    fn what_follows_is_fine_and_what_repeats_is_not() {
        let mut account = at(7);
        assert_eq!(account.update(8, false), None);
        assert_eq!(account.update(8, false), Some(Breach::Back { from: 8, to: 8 }));
        assert_eq!(account.update(5, true), Some(Breach::Back { from: 8, to: 5 }));
        assert_eq!(account.image(9, true), None, "another image may say more");
        assert_eq!(account.image(9, true), None, "or the same");
        assert_eq!(account.image(8, true), Some(Breach::Back { from: 9, to: 8 }));
    }

    #[test]
    fn a_hole_is_a_loss_unless_it_is_said() {
        let mut account = at(7);
        assert_eq!(account.update(12, true), None, "merged");
        assert_eq!(account.update(14, false), Some(Breach::Lost { after: 12, until: 14 }));
        assert_eq!(account.state(false), None);
        assert_eq!(account.standing(), Standing::Suspect);
        assert_eq!(account.update(20, false), None, "it was told");
        assert_eq!(account.image(30, true), None);
        assert_eq!(account.update(31, false), None);
    }

    #[test]
    fn what_is_torn_is_not_ok_again_without_an_image() {
        let mut account = at(7);
        account.state(false);
        assert_eq!(account.state(true), None, "nothing was missed");
        account.state(false);
        account.update(9, false);
        assert_eq!(account.state(true), Some(Breach::Lost { after: 9, until: 9 }));
        let mut account = at(7);
        account.state(false);
        account.state(true);
        assert_eq!(account.update(9, false), Some(Breach::Lost { after: 7, until: 9 }));
    }

    #[test]
    fn a_lost_connection_makes_a_new_start() {
        let mut account = at(7);
        account.down();
        assert_eq!(account.update(8, false), Some(Breach::Bare(8)));
        assert_eq!(account.state(true), None);
        assert_eq!(account.standing(), Standing::Waiting, "a state is no image");
        assert_eq!(account.image(6, true), None, "of a server that is behind");
        assert_eq!(account.update(7, false), None);
    }
}
