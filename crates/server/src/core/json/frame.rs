//! Frames from JSON mounts.

use tapeline_channel::SessionId;
use tapeline_json::{Incoming, JsonError, PONG};
use tapeline_rwf::{Msg, MsgClass, MsgHeader};

use super::names::Names;
use super::{Door, Spoken, close_code};
use crate::Outputs;
use crate::core::Core;

impl Core {
    /// A JSON mount sent a frame: its messages are handled in order, and one
    /// that is no good takes none of the others with it.
    pub(in crate::core) fn on_text<O: Outputs>(
        &mut self,
        door: &mut Door,
        session: SessionId,
        text: &str,
        out: &mut O,
    ) {
        let Door { reader, writer, names, max_faults } = door;
        let (names, max_faults) = (&*names, *max_faults);
        let mut out = Spoken::new(out, writer, names);
        reader.frame(text, names, |incoming| {
            // It may be cut in the middle.
            if self.mounts.get(session).is_none() {
                return;
            }
            match incoming {
                Incoming::Ping => {
                    self.statistics.messages_in += 1;
                    let sent = out.send_json(session, &[PONG], false);
                    self.trouble.note(session, sent);
                }
                Incoming::Pong | Incoming::Error { .. } => self.statistics.messages_in += 1,
                Incoming::Message(rwf) => self.on_converted(session, rwf, names, &mut out),
                Incoming::Failed { error, text } => {
                    self.on_fault(session, &error, text, max_faults, &mut out);
                }
            }
        });
        self.settle(&mut out);
    }

    fn on_converted<O: Outputs>(
        &mut self,
        session: SessionId,
        rwf: &[u8],
        names: &Names,
        out: &mut Spoken<'_, O>,
    ) {
        let asked = names.take_asked();
        let Ok(head) = MsgHeader::decode(rwf) else { return };
        out.writer.note_good(session, head.class);
        if head.class == MsgClass::Request
            && let Ok(Msg::Request(request)) = Msg::decode(rwf)
            && let Some(wanted) = request.key.service_id.and_then(|id| names.unknown(id, asked))
            && self.mounts.get(session).is_some_and(|mount| mount.login.is_some())
        {
            self.statistics.messages_in += 1;
            if self.comes_after_batch(session, rwf, Some(&wanted)) {
                return;
            }
            return self.on_unknown_service(session, &request, &wanted, out);
        }
        self.on_message(session, rwf, out);
    }

    /// A message cannot be converted: its sender is told, and cut if it goes on
    /// like this.
    fn on_fault<O: Outputs>(
        &mut self,
        session: SessionId,
        error: &JsonError,
        text: &str,
        max_faults: u32,
        out: &mut Spoken<'_, O>,
    ) {
        let mut answer = Vec::new();
        error.push_message(text, &mut answer);
        let sent = out.send_json(session, &[&answer], false);
        self.trouble.note(session, sent);
        if out.writer.note_fault(session) >= max_faults {
            out.close_code = close_code::POLICY;
            self.cut(session, "too many messages in a row that are no good", out);
            out.close_code = close_code::NORMAL;
        }
    }
}
