//! Messages to the server, in JSON.

use std::collections::{HashMap, VecDeque};
use std::fmt::Display;
use std::sync::Arc;

use tapeline_channel::Sent;
use tapeline_json::{NoServices, ToJson, Vocabulary};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::encode_into;
use tapeline_rwf::{
    AckMsg, DataState, Domain, Msg, MsgClass, MsgHeader, NakCode, PostFlags, PostMsg, RequestFlags,
    State, StateCode, StatusMsg, StreamState,
};

use super::options;
use crate::MAX_MESSAGE_BYTES;

/// The largest message that servers take as a rule, in bytes.
const USUAL_MESSAGE_BYTES: usize = 61_440;

/// A server that says that it takes fewer bytes means something else: not even
/// a request would fit.
const LEAST_MESSAGE_BYTES: usize = 128;

/// Whether a request gets an answer, be it that it is wrong: what asks for no
/// image, as a pause does, gets none.
fn wants_answer(request: &[u8]) -> bool {
    match Msg::decode(request) {
        Ok(Msg::Request(request)) => !request.flags.contains(RequestFlags::NO_REFRESH),
        _ => false,
    }
}

/// Writes messages, and keeps what has to be known of them.
#[derive(Debug)]
pub(in crate::consumer) struct Writer {
    to_json: ToJson,
    vocabulary: Arc<Vocabulary>,
    text: Vec<u8>,
    /// The largest message that the server takes, as its login answer says.
    max_message_bytes: usize,
    /// Requests without any answer, by stream.
    unanswered: HashMap<i32, Domain>,
    /// Answers to posts that were not sent.
    pub(super) answers: VecDeque<Vec<u8>>,
    /// Messages that could not be converted or were called wrong.
    faults: u64,
}

impl Writer {
    pub(super) fn new(vocabulary: Arc<Vocabulary>) -> Self {
        Self {
            to_json: ToJson::new(Arc::clone(&vocabulary), options()),
            vocabulary,
            text: Vec::new(),
            max_message_bytes: USUAL_MESSAGE_BYTES,
            unanswered: HashMap::new(),
            answers: VecDeque::new(),
            faults: 0,
        }
    }

    pub(super) fn restart(&mut self) {
        self.max_message_bytes = USUAL_MESSAGE_BYTES;
        self.unanswered.clear();
        self.answers.clear();
    }

    pub(super) const fn vocabulary(&self) -> &Arc<Vocabulary> {
        &self.vocabulary
    }

    /// From here on the fields are those of this dictionary.
    pub(in crate::consumer) fn learn(&mut self, dictionary: &FieldDictionary) {
        self.vocabulary = Arc::new(Vocabulary::new(dictionary));
        self.to_json = ToJson::new(Arc::clone(&self.vocabulary), options());
    }

    /// Whether each message has a frame for itself: the server takes less in a
    /// frame than is packed into one.
    pub(in crate::consumer) const fn sends_alone(&self) -> bool {
        self.max_message_bytes < USUAL_MESSAGE_BYTES
    }

    /// Has `send` send a message as one JSON object, if the server takes it.
    pub(in crate::consumer) fn send(
        &mut self,
        rwf: &[u8],
        send: impl FnOnce(&[u8]) -> Sent,
    ) -> Sent {
        let left_out = self.to_json.left_out();
        self.text.clear();
        if let Err(error) = self.to_json.message(rwf, &NoServices, &mut self.text) {
            self.note_fault("a message to the server cannot be converted", &error);
            return Sent::TooLarge;
        }
        // With the brackets of its frame.
        if self.text.len() + 2 > self.max_message_bytes {
            return Sent::TooLarge;
        }
        let Ok(head) = MsgHeader::decode(rwf) else { return Sent::TooLarge };
        match head.class {
            MsgClass::Request if wants_answer(rwf) => {
                self.unanswered.insert(head.stream_id, head.domain);
            }
            MsgClass::Close => {
                self.unanswered.remove(&head.stream_id);
            }
            MsgClass::Post if self.to_json.left_out() > left_out => {
                self.refuse_post(rwf);
                return Sent::Queued;
            }
            _ => {}
        }
        send(&self.text)
    }

    /// A post with content that cannot be said in JSON would change the item to
    /// something that nobody wanted. Who posted it is told as if the server had
    /// refused it.
    #[cold]
    fn refuse_post(&mut self, rwf: &[u8]) {
        let text = "the post has a field that is not in the dictionary, or that is malformed; \
                    it was not sent";
        let Ok(Msg::Post(PostMsg { domain, flags, stream_id, post_id, seq_num, .. })) =
            Msg::decode(rwf)
        else {
            return;
        };
        self.note_fault("a post was not sent", &text);
        if flags.contains(PostFlags::ACK) {
            let nak = AckMsg {
                ack_id: post_id.unwrap_or_default(),
                seq_num,
                nak_code: Some(NakCode::INVALID_CONTENT),
                text: Some(text.as_bytes()),
                ..AckMsg::new(domain, stream_id)
            };
            self.answers.extend(encoded(&nak.into()));
        }
    }

    /// A message came.
    #[inline]
    pub(super) fn note_heard(&mut self, rwf: &[u8]) {
        let Ok(head) = MsgHeader::decode(rwf) else { return };
        if !self.unanswered.is_empty() {
            self.unanswered.remove(&head.stream_id);
        }
        if head.domain == Domain::LOGIN
            && let Ok(Msg::Refresh(refresh)) = Msg::decode(rwf)
            && let Ok(elements) = refresh.payload.element_list()
            && let Ok(Some(most)) = elements.element("MaxMsgSize")
            && let Ok(Some(most)) = most.value.uint()
        {
            let most = usize::try_from(most).unwrap_or(usize::MAX);
            self.max_message_bytes =
                if most < LEAST_MESSAGE_BYTES { USUAL_MESSAGE_BYTES } else { most };
        }
    }

    /// The server calls a message of a stream wrong: the status that says so,
    /// if it was a request that waits for an answer.
    #[cold]
    pub(super) fn refusal(&mut self, stream_id: i32, text: &str) -> Option<Vec<u8>> {
        self.note_fault("the server calls a message wrong", &text);
        let domain = self.unanswered.remove(&stream_id)?;
        let state = State {
            stream: StreamState::CLOSED,
            data: DataState::SUSPECT,
            code: StateCode::ERROR,
            text: text.as_bytes(),
        };
        encoded(&StatusMsg { state: Some(state), ..StatusMsg::new(domain, stream_id) }.into())
    }

    /// Logs ever fewer of what goes wrong again and again.
    #[cold]
    pub(super) fn note_fault(&mut self, what: &str, why: &dyn Display) {
        self.faults += 1;
        if self.faults.is_power_of_two() {
            tracing::warn!(%why, faults = self.faults, "{what}");
        }
    }
}

/// A message that is made here.
fn encoded(msg: &Msg<'_>) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let length = encode_into(&mut bytes, MAX_MESSAGE_BYTES, |encoder| encoder.message(msg)).ok()?;
    bytes.truncate(length);
    Some(bytes)
}
