//! The edge of a consumer whose connection speaks JSON.
//!
//! ```text
//!  text of a frame ─ FromJson ─▶ RWF ─▶ ┌──────┐
//!                                       │ core │
//!  text of a message ◀─ ToJson ─ RWF ◀─ └──────┘
//! ```
//!
//! The core works in RWF and knows nothing of this. Three things have no form
//! in RWF and are dealt with here:
//!
//! * pings are answered;
//! * an Error that answers a request becomes a status that closes its stream,
//!   as nothing else would come for it;
//! * the server's largest message is obeyed.
//!
//! Services go out by their numbers, which the core has from the directory,
//! and come in by name or number. A name that the directory lacks stands as a
//! number that it lacks too, so that the message is not lost.

mod names;
mod writer;

use std::sync::Arc;

use tapeline_json::{FromJson, Incoming, Limits, Options, Vocabulary};
use tapeline_omm::dictionary::FieldDictionary;

use self::names::Names;
use self::writer::Writer;
use crate::MAX_MESSAGE_BYTES;

/// What a server sent, in words that the core takes.
pub(super) enum Heard<'a> {
    /// A message, in RWF.
    Message(&'a [u8]),
    /// A ping, to be answered.
    Ping,
}

/// What the outputs of the core need to speak JSON.
pub(super) struct Words<'e> {
    pub(super) names: &'e Names,
    pub(super) writer: &'e mut Writer,
}

/// Both directions of a connection.
#[derive(Debug)]
pub(super) struct Edge {
    reader: FromJson,
    /// That of the reader; the writer may have learned a newer one.
    vocabulary: Arc<Vocabulary>,
    names: Names,
    writer: Writer,
}

impl Edge {
    /// An edge with the fields of a dictionary, or of the built-in one.
    pub(super) fn new(dictionary: Option<&FieldDictionary>) -> Self {
        let dictionary = dictionary.unwrap_or(FieldDictionary::builtin());
        let vocabulary = Arc::new(Vocabulary::new(dictionary));
        Self {
            reader: reader(&vocabulary),
            writer: Writer::new(Arc::clone(&vocabulary)),
            vocabulary,
            names: Names::default(),
        }
    }

    /// A new connection begins.
    pub(super) fn restart(&mut self) {
        self.writer.restart();
    }

    pub(super) fn words(&mut self) -> Words<'_> {
        Words { names: &self.names, writer: &mut self.writer }
    }

    /// An answer to a message that was not sent, made here.
    pub(super) fn next_answer(&mut self) -> Option<Vec<u8>> {
        self.writer.answers.pop_front()
    }

    /// How many of those there are.
    pub(super) fn answers(&self) -> usize {
        self.writer.answers.len()
    }

    /// Gives each message of a frame in order.
    pub(super) fn frame(&mut self, text: &str, mut each: impl FnMut(Heard<'_>, Words<'_>)) {
        let Self { reader: from_json, names, writer, .. } = self;
        from_json.frame(text, names, |incoming| match incoming {
            Incoming::Ping => each(Heard::Ping, Words { names, writer }),
            Incoming::Pong => {}
            Incoming::Message(rwf) => {
                writer.note_heard(rwf);
                each(Heard::Message(rwf), Words { names, writer });
            }
            Incoming::Error { id, text } => {
                if let Some(status) = writer.refusal(id, &text) {
                    each(Heard::Message(&status), Words { names, writer });
                }
            }
            Incoming::Failed { error, .. } => {
                writer.note_fault("a message of the server cannot be converted", &error);
            }
        });
        if !Arc::ptr_eq(&self.vocabulary, self.writer.vocabulary()) {
            self.vocabulary = Arc::clone(self.writer.vocabulary());
            self.reader = reader(&self.vocabulary);
        }
    }
}

/// What a field is that the dictionary lacks cannot be known; the rest of its
/// message can.
fn options() -> Options {
    Options {
        expand_enums: false,
        catch_unknown_fields: false,
        limits: Limits {
            text_bytes: MAX_MESSAGE_BYTES,
            rwf_bytes: MAX_MESSAGE_BYTES,
            ..Limits::default()
        },
        ..Options::default()
    }
}

fn reader(vocabulary: &Arc<Vocabulary>) -> FromJson {
    FromJson::new(Arc::clone(vocabulary), options())
}

#[cfg(test)]
mod tests {
    use tapeline_channel::Sent;
    use tapeline_omm::market::{ItemRequest, RequestPayload};
    use tapeline_rwf::{Domain, Encoder, Msg, MsgKey, StateCode, StreamState};

    use super::*;

    fn request(stream_id: i32, name: &str) -> Vec<u8> {
        let mut bytes = vec![0; 100_000];
        let mut encoder = Encoder::new(&mut bytes);
        ItemRequest::new(Domain::MARKET_PRICE, stream_id, MsgKey::item(7, name))
            .encode(&mut encoder, &RequestPayload::NONE)
            .expect("it fits");
        let length = encoder.finish().expect("it fits");
        bytes.truncate(length);
        bytes
    }

    /// What is sent for a message.
    fn sent(edge: &mut Edge, rwf: &[u8]) -> Result<String, Sent> {
        let mut text = String::new();
        let sent = edge.words().writer.send(rwf, |bytes| {
            text = String::from_utf8_lossy(bytes).into_owned();
            Sent::Queued
        });
        if sent == Sent::Queued { Ok(text) } else { Err(sent) }
    }

    /// What a frame comes to.
    fn heard(edge: &mut Edge, frame: &str, mut each: impl FnMut(&Msg<'_>)) -> usize {
        let mut pings = 0;
        edge.frame(frame, |heard, _| match heard {
            Heard::Ping => pings += 1,
            Heard::Message(rwf) => each(&Msg::decode(rwf).expect("well-formed")),
        });
        pings
    }

    #[test]
    fn an_error_closes_the_stream_of_a_request_that_waits_and_no_other() {
        let mut edge = Edge::new(None);
        let text = sent(&mut edge, &request(5, "TRI.N")).expect("sent");
        assert!(text.contains(r#""ID":5"#) && text.contains(r#""Service":7"#), "{text}");
        let frame = r#"[{"ID":5,"Type":"Error","Text":"bad"},{"ID":6,"Type":"Error","Text":"x"}]"#;
        let mut states = Vec::new();
        for _ in 0..2 {
            heard(&mut edge, frame, |msg| {
                let Msg::Status(status) = msg else { panic!("{msg:?}") };
                let state = status.state.expect("a state");
                states.push((status.stream_id, state.stream, state.code));
            });
        }
        assert_eq!(states, [(5, StreamState::CLOSED, StateCode::ERROR)]);

        sent(&mut edge, &request(5, "TRI.N")).expect("sent");
        let image = r#"{"ID":5,"Type":"Refresh","Key":{"Name":"TRI.N"},"Fields":{}}"#;
        heard(&mut edge, image, |msg| assert!(matches!(msg, Msg::Refresh(_))));
        heard(&mut edge, frame, |msg| panic!("it has its image: {msg:?}"));
    }

    #[test]
    fn what_the_server_cannot_take_is_not_sent() {
        let mut edge = Edge::new(None);
        let frame = r#"[{"ID":1,"Type":"Refresh","Domain":"Login","Key":{"Name":"u"},
            "State":{"Stream":"Open","Data":"Ok"},"Elements":{"PingTimeout":30,"MaxMsgSize":200}}]"#;
        heard(&mut edge, frame, |_| {});
        assert!(sent(&mut edge, &request(5, "TRI.N")).is_ok());
        assert_eq!(sent(&mut edge, &request(6, &"x".repeat(190))), Err(Sent::TooLarge));
        edge.restart();
        assert!(sent(&mut edge, &request(6, &"x".repeat(190))).is_ok(), "another server may");
    }

    #[test]
    fn what_cannot_be_known_costs_nothing_but_itself() {
        let mut edge = Edge::new(None);
        let frame = r#"[{"Type":"Ping"},{"ID":5,"Type":"Update","Key":{"Service":"NOBODY",
            "Name":"TRI.N"},"Fields":{"NO_SUCH_FIELD":1,"BID":45.50}},
            {"ID":5,"Type":"Nonsense"},{"Type":"Pong"}]"#;
        let mut bids = Vec::new();
        let pings = heard(&mut edge, frame, |msg| {
            let list = msg.payload().field_list().expect("fields");
            bids.extend(list.iter().map(|entry| entry.expect("well-formed").field_id));
        });
        assert_eq!((pings, bids), (1, vec![22]));
    }

    #[test]
    fn fields_are_those_of_the_dictionary_that_was_learned_last() {
        let mut edge = Edge::new(None);
        let dictionary = FieldDictionary::parse(b"OWN \"Own\" -7 NULL PRICE 17 REAL64 7", b"");
        let frame = r#"{"ID":5,"Type":"Update","Fields":{"OWN":1}}"#;
        let ids = |edge: &mut Edge| {
            let mut ids = Vec::new();
            heard(edge, frame, |msg| {
                let list = msg.payload().field_list().expect("fields");
                ids.extend(list.iter().map(|entry| entry.expect("well-formed").field_id));
            });
            ids
        };
        assert_eq!(ids(&mut edge), []);
        edge.words().writer.learn(&dictionary.expect("a dictionary"));
        // What is read already is read as before.
        heard(&mut edge, "[]", |_| {});
        assert_eq!(ids(&mut edge), [-7]);
    }
}
