//! What the core did, for the steps to refer to.

use tapeline_backbone::{FrameHeader, Incarnation, Kind, Published, Role};
use tapeline_channel::{Sent, SessionId};
use tapeline_rwf::Msg;
use tapeline_server::{Outputs, Shared};

use crate::steps::Answers;

/// What the core did, as far as steps refer to it.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// Requests that hubs got and did not answer.
    pub(super) requests: Vec<(Incarnation, u32, u32)>,
    /// Posts that hubs can answer.
    pub(super) posts: Vec<(Incarnation, u32)>,
    /// Sessions that it closed.
    pub(super) closed: Vec<SessionId>,
    pub(super) answers: Answers,
}

impl Outputs for Seen {
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        Msg::decode(message).expect("what the core sends can be read");
        self.answers.answer(session)
    }

    fn send_on(&mut self, session: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        let mut copy = message.to_vec();
        tapeline_rwf::patch_stream_id(&mut copy, stream_id).expect("a message");
        self.send(session, &copy)
    }

    fn send_shared(
        &mut self,
        session: SessionId,
        stream_id: i32,
        message: &[u8],
        _: &mut Shared,
    ) -> Sent {
        self.send_on(session, stream_id, message)
    }

    fn send_json(&mut self, session: SessionId, pieces: &[&[u8]], _: bool) -> Sent {
        let text = pieces.concat();
        serde_json::from_slice::<serde_json::Value>(&text).expect("what the core sends is JSON");
        self.answers.answer(session)
    }

    fn close(&mut self, session: SessionId, _: &str) {
        self.closed.push(session);
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        assert_eq!(header.kind.sender(), Some(Role::Server), "a kind that servers send");
        let published = self.answers.published.unwrap_or(Published::Sent);
        match (header.kind, published) {
            (Kind::Open, Published::Sent) => {
                Msg::decode(&parts.concat()).expect("what the core publishes can be read");
                self.requests.push((header.target, header.item, header.item_seq));
            }
            (Kind::Post, Published::Sent) => {
                let body = parts.concat();
                let reference = body.first_chunk().expect("a reference");
                self.posts.push((header.target, u32::from_le_bytes(*reference)));
            }
            _ => {}
        }
        published
    }

    fn is_congested(&self) -> bool {
        self.answers.is_congested
    }
}
