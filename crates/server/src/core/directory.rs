//! The directory on streams of mounts.

use tapeline_channel::SessionId;
use tapeline_omm::directory::{DirectoryFilter, DirectoryRequest};
use tapeline_omm::state::usual;
use tapeline_rwf::{MsgKey, RequestMsg, State, StreamState};

use super::Core;
use super::services::{Number, ServiceChanges};
use super::stream::Stream;
use crate::{Note, Outputs};

/// The text that the vendor's providers give.
const TEXT: &str = "Source Directory Refresh Completed";

impl Core {
    pub(super) fn open_directory<O: Outputs>(
        &mut self,
        session: SessionId,
        msg: &RequestMsg<'_>,
        out: &mut O,
    ) {
        let max = self.config.limits.max_admin_streams;
        // What it is sent now has all changes in it.
        self.tell_mount(session, out);
        let Some(mount) = self.mounts.known_mut(session) else { return };
        if mount.admin_count >= max {
            return self.refuse(session, msg, &usual::TOO_MANY_ITEMS, out);
        }
        let request = read(msg, DirectoryFilter::USUAL);
        if request.streaming {
            mount.admin_count += 1;
            mount.directories.push(request.stream_id);
            mount.streams.insert(request.stream_id, Stream::Directory(Box::new(request)));
        }
        if !request.no_refresh {
            self.send_directory(session, &request, out);
        }
    }

    /// Other filters are wanted, or the directory once more.
    pub(super) fn reissue_directory<O: Outputs>(
        &mut self,
        session: SessionId,
        known: DirectoryRequest,
        msg: &RequestMsg<'_>,
        out: &mut O,
    ) {
        self.tell_mount(session, out);
        let request = DirectoryRequest { streaming: true, ..read(msg, known.filter) };
        if let Some(mount) = self.mounts.get_mut(session) {
            mount.streams.insert(request.stream_id, Stream::Directory(Box::new(request)));
        }
        if !request.no_refresh {
            self.send_directory(session, &request, out);
        }
    }

    fn send_directory<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &DirectoryRequest,
        out: &mut O,
    ) {
        let mut state = State::open_ok(TEXT);
        if !request.streaming {
            state.stream = StreamState::NON_STREAMING;
        }
        if let Some(mount) = self.mounts.get_mut(session) {
            mount.roles.described(self.now);
        }
        let refresh = self.services.directory.refresh(request, &state);
        if let Ok(bytes) = self.scratch.encode(|encoder| refresh.encode(encoder)) {
            self.trouble.note(session, out.send(session, bytes));
        }
    }

    /// Tells all mounts what changed. What waits for it is tried again.
    pub(super) fn tell_services<O: Outputs>(&mut self, changes: &ServiceChanges, out: &mut O) {
        for (id, is_up) in changes.went_up_or_down() {
            if let Some(name) = self.services.name(id) {
                out.note(Note::Service { name, is_up });
            }
        }
        for number in &changes.numbers {
            self.statistics.numbers_differ += u64::from(!number.is_fixed);
            if let Some(name) = self.services.name(number.here) {
                let Number { here, at_hub, is_fixed } = *number;
                out.note(Note::Number { name, here, at_hub, is_fixed });
            }
        }
        if let Some(update) = changes.update() {
            self.tell_news(update, out);
        }
        self.owe_services(changes);
    }
}

/// A request whose filter may be left out.
fn read(msg: &RequestMsg<'_>, filter: DirectoryFilter) -> DirectoryRequest {
    let key = MsgKey { filter: Some(msg.key.filter.unwrap_or(filter.bits())), ..msg.key };
    DirectoryRequest::decode(&RequestMsg { key, ..*msg })
        .unwrap_or_else(|_| DirectoryRequest::new(msg.stream_id, filter))
}
