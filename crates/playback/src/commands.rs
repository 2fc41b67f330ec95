//! What is typed while a source runs.

use std::io::{self, BufRead};
use std::sync::mpsc::{self, Receiver};
use std::thread;

/// An order from standard input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// `ur N`: so many updates a second.
    Rate(u64),
    /// `ul N`: so many of them carry the time.
    StampRate(u64),
    /// `help`: say what can be typed.
    Help,
    /// `quit`: end.
    Quit,
    /// What is none.
    Unknown(String),
}

impl Order {
    /// What can be typed.
    pub const HELP: &str = "type `ur RATE` for so many updates a second, `ul RATE` for so \
                                   many of them with the time, `quit` to end";

    /// Reads a line; `None` for an empty one.
    fn parse(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().collect();
        let order = match words.as_slice() {
            [] => return None,
            ["ur", rate] => rate.parse().ok().map(Self::Rate),
            ["ul", rate] => rate.parse().ok().map(Self::StampRate),
            ["help" | "?"] => Some(Self::Help),
            ["quit" | "exit" | "q"] => Some(Self::Quit),
            _ => None,
        };
        Some(order.unwrap_or_else(|| Self::Unknown(line.trim().to_owned())))
    }
}

/// The orders of standard input, read by a thread of their own.
pub struct Commands(Receiver<Order>);

impl Commands {
    /// Begins to read.
    pub fn read() -> Self {
        let (sender, receiver) = mpsc::channel();
        // It ends with standard input, or with the program.
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if let Some(order) = Order::parse(&line)
                    && sender.send(order).is_err()
                {
                    break;
                }
            }
        });
        Self(receiver)
    }

    /// The next order that was typed, if any.
    pub fn next(&self) -> Option<Order> {
        self.0.try_recv().ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_orders() {
        assert_eq!(Order::parse("ur 500"), Some(Order::Rate(500)));
        assert_eq!(Order::parse(" ul  20 "), Some(Order::StampRate(20)));
        assert_eq!(Order::parse("?"), Some(Order::Help));
        assert_eq!(Order::parse("quit"), Some(Order::Quit));
        assert_eq!(Order::parse("  "), None);
        for line in ["ur", "ur x", "ur -1", "ur 1 2", "stop"] {
            assert_eq!(Order::parse(line), Some(Order::Unknown(line.to_owned())));
        }
    }
}
