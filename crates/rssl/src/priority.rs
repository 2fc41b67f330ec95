use crate::error::ConfigError;

/// Urgency of a message. Messages of one priority arrive in the order they
/// were written; a higher one may overtake a lower one that still waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Flushed most often; the default.
    #[default]
    High,
    /// Flushed less often.
    Medium,
    /// Flushed least often.
    Low,
}

impl Priority {
    /// All three, most urgent first.
    pub const ALL: [Self; 3] = [Self::High, Self::Medium, Self::Low];

    pub(crate) const fn index(self) -> usize {
        match self {
            Self::High => 0,
            Self::Medium => 1,
            Self::Low => 2,
        }
    }
}

const MAX_LETTERS: usize = 32;

/// The order in which frames of the three priorities go to the socket when
/// several wait: one frame a letter, round and round. Default `HMHLHM`.
///
/// Where the string has no `L`, low frames go when nothing else waits.
///
/// ```
/// use tapeline_rssl::FlushOrder;
/// assert_eq!(FlushOrder::new("HHM")?.to_string(), "HHM");
/// assert!(FlushOrder::new("HL").is_err());
/// # Ok::<(), tapeline_rssl::ConfigError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct FlushOrder {
    turns: [Priority; MAX_LETTERS],
    count: u8,
}

impl FlushOrder {
    /// An order from 1 to 32 letters `H`, `M`, `L` with at least one `H` and
    /// one `M`.
    pub fn new(letters: &str) -> Result<Self, ConfigError> {
        let wrong = || ConfigError::FlushOrder(letters.to_owned());
        if letters.len() > MAX_LETTERS || !letters.contains('H') || !letters.contains('M') {
            return Err(wrong());
        }
        let mut turns = [Priority::High; MAX_LETTERS];
        for (turn, letter) in turns.iter_mut().zip(letters.bytes()) {
            *turn = match letter {
                b'H' => Priority::High,
                b'M' => Priority::Medium,
                b'L' => Priority::Low,
                _ => return Err(wrong()),
            };
        }
        Ok(Self { turns, count: letters.len() as u8 })
    }

    pub(crate) fn turns(&self) -> &[Priority] {
        &self.turns[..usize::from(self.count)]
    }
}

impl Default for FlushOrder {
    fn default() -> Self {
        use Priority::{High, Low, Medium};
        let mut turns = [High; MAX_LETTERS];
        turns[..6].copy_from_slice(&[High, Medium, High, Low, High, Medium]);
        Self { turns, count: 6 }
    }
}

impl std::fmt::Display for FlushOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use std::fmt::Write;
        self.turns().iter().try_for_each(|turn| {
            f.write_char(match turn {
                Priority::High => 'H',
                Priority::Medium => 'M',
                Priority::Low => 'L',
            })
        })
    }
}

impl std::fmt::Debug for FlushOrder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FlushOrder({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_need_h_and_m_and_nothing_strange() {
        assert_eq!(FlushOrder::default(), FlushOrder::new("HMHLHM").unwrap());
        assert!(FlushOrder::new("HM").is_ok());
        assert!(FlushOrder::new(&"HM".repeat(16)).is_ok());
        for wrong in ["", "H", "M", "HMX", "hm", &"HM".repeat(17)] {
            assert_eq!(FlushOrder::new(wrong), Err(ConfigError::FlushOrder(wrong.to_owned())));
        }
    }
}
