use std::path::PathBuf;

use thiserror::Error;

/// Why there is no backbone.
#[derive(Debug, Error)]
pub enum BackboneError {
    /// A channel in the configuration cannot be used.
    #[error("backbone channel '{channel}': {problem}")]
    Channel {
        /// As it was given.
        channel: String,
        /// What is wrong with it, and what would be right.
        problem: String,
    },
    /// A setting cannot be used.
    #[error("backbone setting {setting} = {value}: {problem}")]
    Setting {
        /// Its name.
        setting: &'static str,
        /// As it was given.
        value: String,
        /// What would be right.
        problem: &'static str,
    },
    /// The driver's directory cannot be used.
    #[error("media driver's folder {}: {text}", path.display())]
    Directory {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it.
        text: String,
    },
    /// Aeron refused.
    #[error("Aeron could not {action} at {}: {text}", place.display())]
    Aeron {
        /// What was tried.
        action: &'static str,
        /// The driver's directory, or the channel.
        place: PathBuf,
        /// Aeron's words.
        text: String,
    },
}
