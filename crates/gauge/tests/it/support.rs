//! What tools print in tests of this process.

use std::sync::mpsc;

use tapeline_gauge::Output;

/// What a tool printed, and what it says beside that to whoever waits for it.
#[derive(Default)]
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) said: Vec<String>,
    pub(crate) ready: Option<mpsc::Sender<String>>,
}

impl Output for Told {
    fn text(&mut self, text: &str) {
        self.text.push_str(text);
    }

    fn say(&mut self, text: &str) {
        self.said.push(text.to_owned());
        if let Some(ready) = &self.ready {
            let _ = ready.send(text.to_owned());
        }
    }
}

/// A command line in words.
pub(crate) fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}
