//! The dictionaries that the server has itself, and sending them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tapeline_channel::{Sent, SessionId};
use tapeline_omm::dictionary::{
    DictionaryType, ENUM_PART_LEN, FIELD_PART_LEN, FieldDictionary, Verbosity,
};
use tapeline_omm::state::usual;
use tapeline_rwf::{
    DataState, DataType, Domain, Encoded, Encoder, MsgKey, RefreshFlags, RefreshMsg, RequestFlags,
    RequestMsg, State, StateCode, StatusMsg, StreamState,
};

use super::Core;
use super::services::{ENUM_DICTIONARY, FIELD_DICTIONARY};
use super::stream::{DictionaryStream, Stream};
use super::too_long::too_long;
use crate::Outputs;

/// The payloads of a dictionary's refresh parts.
type Payloads = Arc<[Box<[u8]>]>;

/// Both dictionaries, as payloads of the parts of their refreshes.
#[derive(Debug)]
pub(super) struct Dictionaries {
    source: Arc<FieldDictionary>,
    /// By dictionary, verbosity and whether it is in one part; made when first
    /// asked for.
    parts: BTreeMap<(u8, Verbosity, bool), Payloads>,
}

impl Dictionaries {
    pub(super) const fn new(source: Arc<FieldDictionary>) -> Self {
        Self { source, parts: BTreeMap::new() }
    }

    pub(super) fn source(&self) -> &FieldDictionary {
        &self.source
    }

    fn parts(
        &mut self,
        dictionary: DictionaryType,
        verbosity: Verbosity,
        is_whole: bool,
    ) -> Payloads {
        let is_fields = dictionary == DictionaryType::Fields;
        let max_len = match is_fields {
            _ if is_whole => usize::MAX,
            true => FIELD_PART_LEN,
            false => ENUM_PART_LEN,
        };
        let source = &self.source;
        let make = || {
            source
                .parts(dictionary, verbosity, max_len)
                .filter_map(|part| {
                    let mut payload = vec![0; part.byte_len()];
                    let mut encoder = Encoder::new(&mut payload);
                    part.write(encoder.container(DataType::SERIES)).ok()?;
                    let len = encoder.finish().ok()?;
                    payload.truncate(len);
                    Some(payload.into())
                })
                .collect()
        };
        self.parts.entry((u8::from(is_fields), verbosity, is_whole)).or_insert_with(make).clone()
    }
}

/// A dictionary that is being sent to a mount.
#[derive(Debug)]
pub(super) struct Download {
    stream_id: i32,
    stream: DictionaryStream,
    parts: Payloads,
    next: usize,
}

impl Download {
    pub(super) const fn stream_id(&self) -> i32 {
        self.stream_id
    }
}

impl Core {
    /// Whether a request is for a dictionary that the server has itself. Any
    /// other goes to the provider of the service as an item.
    #[allow(clippy::unused_self, reason = "a matter of the server, constant for now")]
    pub(super) fn is_own_dictionary(&self, request: &RequestMsg<'_>) -> bool {
        request.domain == Domain::DICTIONARY && dictionary_of(request).is_some()
    }

    pub(super) fn open_dictionary<O: Outputs>(
        &mut self,
        session: SessionId,
        request: &RequestMsg<'_>,
        out: &mut O,
    ) {
        let Some(dictionary) = dictionary_of(request) else { return };
        let max = self.config.limits.max_admin_streams;
        let Some(mount) = self.mounts.known_mut(session) else { return };
        if mount.admin_count >= max {
            return self.refuse(session, request, &usual::TOO_MANY_ITEMS, out);
        }
        mount.admin_count += 1;
        let stream = DictionaryStream {
            dictionary,
            service_id: request.key.service_id,
            verbosity: verbosity_of(request, Verbosity::Normal),
            streaming: request.flags.contains(RequestFlags::STREAMING),
        };
        mount.streams.insert(request.stream_id, Stream::Dictionary(stream));
        if !request.flags.contains(RequestFlags::NO_REFRESH) {
            self.download(session, request.stream_id, stream, out);
        }
    }

    /// More of a dictionary is wanted, or the same once more.
    pub(super) fn reissue_dictionary<O: Outputs>(
        &mut self,
        session: SessionId,
        known: DictionaryStream,
        request: &RequestMsg<'_>,
        out: &mut O,
    ) {
        let stream =
            DictionaryStream { verbosity: verbosity_of(request, known.verbosity), ..known };
        let Some(mount) = self.mounts.known_mut(session) else { return };
        mount.streams.insert(request.stream_id, Stream::Dictionary(stream));
        if !request.flags.contains(RequestFlags::NO_REFRESH) {
            mount.owed.downloads.retain(|download| download.stream_id != request.stream_id);
            self.download(session, request.stream_id, stream, out);
        }
    }

    fn download<O: Outputs>(
        &mut self,
        session: SessionId,
        stream_id: i32,
        stream: DictionaryStream,
        out: &mut O,
    ) {
        let Some(mount) = self.mounts.known_mut(session) else { return };
        let is_whole = mount.traits.dictionary_whole;
        let parts = self.dictionaries.parts(stream.dictionary, stream.verbosity, is_whole);
        mount.owed.downloads.push_back(Download { stream_id, stream, parts, next: 0 });
        if !mount.is_slow {
            self.continue_downloads(session, out);
        }
    }

    /// Sends parts of dictionaries until all are sent or the mount is slow. A
    /// dictionary is larger than what some mounts may have in their output.
    fn continue_downloads<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        while self.send_part(session, out) {}
    }

    /// Sends the next part of a dictionary. Whether there may be another one,
    /// and room for it.
    pub(super) fn send_part<O: Outputs>(&mut self, session: SessionId, out: &mut O) -> bool {
        let Some(mount) = self.mounts.known_mut(session) else { return false };
        let downloads = &mut mount.owed.downloads;
        let Some(download) = downloads.front_mut() else { return false };
        let Some(part) = download.parts.get(download.next) else {
            let (stream_id, streaming) = (download.stream_id, download.stream.streaming);
            downloads.pop_front();
            if !streaming {
                self.remove_stream(session, stream_id, out);
            }
            return true;
        };
        let refresh = head(download, part);
        download.next += 1;
        let Ok(bytes) = self.scratch.message(&refresh.into()) else { return true };
        let sent = out.send(session, bytes);
        self.trouble.note(session, sent);
        self.mark_slow(out);
        if sent == Sent::TooLarge {
            self.end_download(session, out);
        }
        matches!(sent, Sent::Queued | Sent::TooLarge)
    }

    /// A part is longer than the mount ever takes: the rest is of no use without it.
    #[cold]
    fn end_download<O: Outputs>(&mut self, session: SessionId, out: &mut O) {
        let Some(mount) = self.mounts.known_mut(session) else { return };
        let Some(download) = mount.owed.downloads.pop_front() else { return };
        self.statistics.messages_too_long += 1;
        let text = "a part of the dictionary is longer than what the mount takes";
        let state = Some(too_long(text));
        let status = StatusMsg { state, ..StatusMsg::new(Domain::DICTIONARY, download.stream_id) };
        self.send(session, &status.into(), out);
        self.remove_stream(session, download.stream_id, out);
    }
}

fn head<'d>(download: &Download, part: &'d [u8]) -> RefreshMsg<'d> {
    let stream = download.stream;
    let (name, text) = match stream.dictionary {
        DictionaryType::Fields => (FIELD_DICTIONARY, "Field Dictionary Refresh"),
        DictionaryType::Enums => (ENUM_DICTIONARY, "Enum Type Dictionary Refresh"),
    };
    let mut flags = RefreshFlags::SOLICITED;
    flags.set(RefreshFlags::CLEAR_CACHE, download.next == 0);
    flags.set(RefreshFlags::REFRESH_COMPLETE, download.next + 1 == download.parts.len());
    let state = match stream.streaming {
        true => StreamState::OPEN,
        false => StreamState::NON_STREAMING,
    };
    RefreshMsg {
        flags,
        state: State::new(state, DataState::OK, StateCode::NONE, text),
        key: Some(MsgKey {
            service_id: stream.service_id,
            name: Some(name.as_bytes()),
            filter: Some(stream.verbosity.filter()),
            ..MsgKey::EMPTY
        }),
        // A part number has 15 bits.
        part_num: Some((download.next & 0x7FFF) as u16),
        payload: Encoded::new(DataType::SERIES, part),
        ..RefreshMsg::new(Domain::DICTIONARY, download.stream_id)
    }
}

fn dictionary_of(request: &RequestMsg<'_>) -> Option<DictionaryType> {
    match request.key.name? {
        name if name == FIELD_DICTIONARY.as_bytes() => Some(DictionaryType::Fields),
        name if name == ENUM_DICTIONARY.as_bytes() => Some(DictionaryType::Enums),
        _ => None,
    }
}

fn verbosity_of(request: &RequestMsg<'_>, otherwise: Verbosity) -> Verbosity {
    request.key.filter.map_or(otherwise, Verbosity::from_filter)
}
