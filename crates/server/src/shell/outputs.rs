//! The core's outputs: sockets, backbone, edge and log.

use tapeline_backbone::{FrameHeader, Publish, Published};
use tapeline_channel::{Outbox, Sent, SessionId, System};
use tapeline_entitle::{EdgePort, LoginQuestion, Usage};
use tapeline_rssl::{CopyOf, Originals};
use tapeline_rwf::patch_stream_id;
use tapeline_time::Time;

use crate::log::NoteLog;
use crate::{Note, Outputs};

/// The outputs of the core, inside of one turn.
pub(super) struct Shell<'a, 'o, P, S: System> {
    pub(super) outbox: &'a mut Outbox<'o, S>,
    pub(super) port: &'a mut P,
    pub(super) edge: &'a mut Option<EdgePort>,
    pub(super) notes: &'a mut NoteLog,
    pub(super) now: Time,
    /// Messages that were sent.
    pub(super) copies: usize,
}

impl<P: Publish, S: System> Outputs for Shell<'_, '_, P, S> {
    #[inline]
    fn send(&mut self, session: SessionId, message: &[u8]) -> Sent {
        self.copies += 1;
        self.outbox.send(session, message)
    }

    #[inline]
    fn send_on(&mut self, session: SessionId, stream_id: i32, message: &[u8]) -> Sent {
        self.copies += 1;
        self.outbox.send_with(session, message, move |copy| {
            // What the core sends is a message, long enough for its stream id.
            let _ = patch_stream_id(copy, stream_id);
        })
    }

    #[inline]
    fn send_json(&mut self, session: SessionId, pieces: &[&[u8]], alone: bool) -> Sent {
        self.copies += 1;
        self.outbox.send_text(session, pieces, alone)
    }

    #[inline]
    fn credit(&mut self, session: SessionId) -> usize {
        self.outbox.granted_bytes(session)
    }

    #[inline]
    fn send_copies(
        &mut self,
        session: SessionId,
        originals: &Originals,
        copies: &[CopyOf],
    ) -> usize {
        self.outbox.send_copies(session, originals, copies)
    }

    fn admit(&mut self, session: SessionId) {
        self.outbox.admit(session);
    }

    fn keeps_records(&self) -> bool {
        self.edge.as_ref().is_some_and(EdgePort::keeps_records)
    }

    fn record(&mut self, usage: &Usage<'_>) {
        if let Some(edge) = self.edge {
            edge.record(usage);
        }
    }

    fn ask_login(&mut self, question: LoginQuestion) -> bool {
        self.edge.as_ref().is_some_and(|edge| edge.ask(question))
    }

    fn allow(&mut self, session: SessionId, bytes: usize) {
        self.outbox.allow(session, bytes);
    }

    #[cold]
    fn note(&mut self, note: Note<'_>) {
        let session = match note {
            Note::Slow { session, .. } | Note::Cut { session, .. } => Some(session),
            _ => None,
        };
        let Self { outbox, notes, now, .. } = self;
        notes.write(*now, note, || session.map_or(0, |session| outbox.backlog_bytes(session)));
    }

    fn close(&mut self, session: SessionId, reason: &str) {
        tracing::debug!(%session, reason, "closing a mount");
        self.outbox.close(session, reason);
    }

    fn close_json(&mut self, session: SessionId, code: u16, reason: &str) {
        tracing::debug!(%session, code, reason, "closing a JSON mount");
        self.outbox.close_text(session, code, reason);
    }

    fn hold(&mut self, session: SessionId, is_held: bool) {
        self.outbox.hold(session, is_held);
    }

    fn publish(&mut self, header: FrameHeader, parts: &[&[u8]]) -> Published {
        let published = self.port.publish(header, parts);
        if published == Published::TooLarge {
            tracing::error!(kind = ?header.kind, "a message is too long for the backbone");
        }
        published
    }

    fn is_congested(&self) -> bool {
        self.port.is_congested()
    }
}
