//! Messages that are longer than a connection takes: their stream is over, and
//! all else goes on.

use tapeline_omm::post::{AckForm, PostRefusal, nak};
use tapeline_rwf::{
    CloseMsg, DataState, Domain, Encoder, Msg, MsgClass, MsgHeader, State, StateCode, StatusMsg,
    StreamState,
};

/// What a consumer does about a message that was passed over: what it tells
/// itself in place of the server, and what it tells the server.
pub(crate) struct Ended {
    pub(crate) status: Vec<u8>,
    pub(crate) close: Vec<u8>,
}

/// The end of the stream that a message was on, if it changed what the consumer
/// has. `head` is its beginning.
pub(crate) fn ended(head: &[u8], length: usize, max: usize) -> Option<Ended> {
    let MsgHeader { class, domain, stream_id, .. } = MsgHeader::decode(head).ok()?;
    let changes = matches!(class, MsgClass::Refresh | MsgClass::Update | MsgClass::Status);
    if !changes || domain == Domain::LOGIN {
        return None;
    }
    let text =
        format!("a message of {length} bytes is longer than the {max} that a consumer takes");
    let state = State::new(StreamState::CLOSED, DataState::SUSPECT, StateCode::NO_RESOURCES, &text);
    let status = StatusMsg { state: Some(state), ..StatusMsg::new(domain, stream_id) };
    Some(Ended {
        status: written(&status.into())?,
        close: written(&CloseMsg::new(domain, stream_id).into())?,
    })
}

/// The answer of a provider to a post that was passed over, if one is wanted.
pub(crate) fn refused(head: &[u8], length: usize, max: usize) -> Option<Vec<u8>> {
    let Ok(Msg::Post(post)) = Msg::decode(head) else { return None };
    let refusal = PostRefusal::TooLong { length, max };
    let text = refusal.to_string();
    let form = AckForm { private: false, with_key: false };
    written(&nak(&post, form, &refusal, &text)?.into())
}

fn written(msg: &Msg<'_>) -> Option<Vec<u8>> {
    let mut buffer = [0; 512];
    let mut encoder = Encoder::new(&mut buffer);
    encoder.message(msg).ok()?;
    encoder.finish_bytes().ok().map(<[u8]>::to_vec)
}
