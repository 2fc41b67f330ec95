//! Small parts of message headers.

/// Class and count of the interest in an item: when something has to give way,
/// the lower class goes first, within a class the lower count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Priority {
    /// Class, 0 to 255.
    pub class: u8,
    /// Count within the class.
    pub count: u16,
}

impl Default for Priority {
    /// 1 and 1: what counts where no priority is given.
    fn default() -> Self {
        Self { class: 1, count: 1 }
    }
}

/// What was merged into one update.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Conflation {
    /// Number of updates, 0 to 32767.
    pub count: u16,
    /// Time over which they came, in milliseconds.
    pub time_ms: u16,
}

/// Who posted: two numbers, commonly an IPv4 address and a user or process id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct PostUserInfo {
    /// Address.
    pub address: u32,
    /// User id.
    pub user_id: u32,
}
