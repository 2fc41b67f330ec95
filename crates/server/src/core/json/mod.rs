//! The door for mounts that speak JSON.
//!
//! A JSON mount is a mount like any other. The core works in RWF throughout;
//! only at its door words change:
//!
//! ```text
//!  text of a frame ─ FromJson ─▶ RWF ─▶ ┌──────┐ ─ send, send_on ─▶ RSSL mounts
//!  RWF of RSSL mounts ────────────────▶ │ core │
//!                                       └──────┘ ─ Spoken ─ ToJson ─▶ JSON mounts
//! ```
//!
//! [`Spoken`] stands in front of the outputs while an event is handled. What
//! goes to an RSSL mount it passes on. What goes to a JSON mount is the `ID` of
//! the stream and a *tail* that is the same for all who get the message. A tail
//! is kept with the bytes it was made of: an update that a thousand mounts
//! watch with the same view is converted for the first of them, and compared
//! and copied for the others.
//!
//! Where JSON mounts are not to get just what RSSL mounts get:
//!
//! * the login answer has the ping time-out and the largest message as its
//!   payload, and a frame of its own;
//! * the words of a refused login begin with `Login Rejected.`;
//! * a service goes by its name; one that nobody knows is answered with a
//!   status on the stream, as an Error would have clients wait or reconnect;
//! * a dictionary is one message, and batches are answered with counts;
//! * an ack has no code if it is good, and generic messages go to those only
//!   who have sent one: either would end some clients.
//!
//! A client whose handshake has a cookie with a token is logged in without
//! asking.
//!
//! Without a WebSocket listener there is no door, and nothing of it costs.

mod cookies;
mod frame;
mod held;
mod names;
mod spoken;
mod tails;

use std::sync::Arc;

use tapeline_json::{FromJson, Limits, Options, ToJson, Vocabulary};

pub(super) use self::held::{HeldRequest, Wanted};
use self::names::Names;
pub(super) use self::spoken::Spoken;
use self::spoken::Writer;
use super::mount::MountTraits;
use super::services::Services;
use crate::ServerConfig;

/// Why a WebSocket is closed, as its close frame says.
mod close_code {
    pub(super) const NORMAL: u16 = 1000;
    pub(super) const POLICY: u16 = 1008;
}

/// What JSON mounts expect that others do not. The core knows these, and not
/// JSON.
pub(super) const JSON_TRAITS: MountTraits = MountTraits {
    may_open_twice: true,
    misuse_closes: true,
    batches_counted: true,
    dictionary_whole: true,
    down_is_unknown: true,
};

/// The close code of all mounts when the server ends.
pub(super) const GOING_AWAY: u16 = 1001;

/// The converters and what they look up.
#[derive(Debug)]
pub(super) struct Door {
    reader: FromJson,
    pub(super) writer: Writer,
    names: Names,
    max_faults: u32,
}

impl Door {
    pub(super) fn new(config: &ServerConfig, services: &Services) -> Self {
        let vocabulary = Arc::new(Vocabulary::new(&config.dictionary));
        let json = &config.json;
        let options = Options {
            expand_enums: json.expand_enums,
            catch_unknown_keys: json.catch_unknown_keys,
            catch_unknown_fields: json.catch_unknown_fields,
            limits: Limits {
                text_bytes: json.max_message_bytes,
                // RWF is shorter than what it is made of, but for arrays that
                // name a length.
                rwf_bytes: (4 * json.max_message_bytes).min(config.limits.max_message_bytes),
                ..Limits::default()
            },
            ..Options::default()
        };
        let mut names = Names::new(json.default_service.as_deref());
        names.learn(services);
        Self {
            reader: FromJson::new(Arc::clone(&vocabulary), options),
            writer: Writer::new(ToJson::new(vocabulary, options), json),
            names,
            max_faults: json.max_faults,
        }
    }

    /// Takes over services that became known. Whether there were any.
    pub(super) fn learn(&mut self, services: &Services) -> bool {
        let is_news = self.names.learn(services);
        if is_news {
            // Tails have names in them.
            self.writer.forget_tails();
        }
        is_news
    }

    /// The outputs with words for everybody.
    pub(super) fn spoken<'a, O>(&'a mut self, out: &'a mut O) -> Spoken<'a, O> {
        Spoken::new(out, &mut self.writer, &self.names)
    }
}
