//! The dictionary, fetched from a service that provides it.

use std::sync::Arc;

use tapeline_omm::dictionary::{DictionaryBuilder, DictionaryType};
use tapeline_omm::directory::Directory;
use tapeline_omm::state::is_final;
use tapeline_omm::{DictionaryMsg, DictionaryRequest};
use tapeline_rwf::{Domain, Msg};

use super::core::{Phase, Run};
use super::event::ConsumerEvent;
use super::streams::{ENUMS_STREAM, FIELDS_STREAM};

/// The names that dictionaries have by custom.
pub(crate) const FIELDS_NAME: &str = "RWFFld";
/// The same for enumerations.
pub(crate) const ENUMS_NAME: &str = "RWFEnum";

/// How far the download is.
#[derive(Debug, Default)]
pub(super) struct Download {
    builder: Option<Box<DictionaryBuilder>>,
    fields: Half,
    enums: Half,
}

/// One of the two dictionaries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Half {
    #[default]
    Missing,
    Requested,
    Complete,
}

impl Download {
    /// The connection is lost: all of it is to be fetched again.
    pub(super) fn restart(&mut self) {
        *self = Self::default();
    }

    fn half_of(&mut self, stream_id: i32) -> &mut Half {
        match stream_id {
            FIELDS_STREAM => &mut self.fields,
            _ => &mut self.enums,
        }
    }

    const fn is_complete(&self) -> bool {
        matches!((self.fields, self.enums), (Half::Complete, Half::Complete))
    }
}

/// A service that provides a dictionary now.
fn provider(directory: &Directory, name: &str) -> Option<u16> {
    let provides = |list: Option<&Vec<tapeline_omm::Text>>| {
        list.is_some_and(|names| names.iter().any(|given| *given == name))
    };
    directory.services().find_map(|(id, service)| {
        let info = service.info.as_ref()?;
        let is_provided = info.offers(Domain::DICTIONARY)
            && provides(info.dictionaries_provided.as_ref())
            && service.is_usable();
        is_provided.then_some(id)
    })
}

impl Run<'_> {
    /// Requests what is missing and is provided.
    pub(super) fn download(&mut self) {
        for (stream_id, name) in [(FIELDS_STREAM, FIELDS_NAME), (ENUMS_STREAM, ENUMS_NAME)] {
            if *self.core.download.half_of(stream_id) != Half::Missing {
                continue;
            }
            let Some(service_id) = provider(&self.core.directory, name) else { continue };
            *self.core.download.half_of(stream_id) = Half::Requested;
            let request = DictionaryRequest {
                streaming: false,
                ..DictionaryRequest::new(stream_id, service_id, name)
            };
            self.send(|encoder| request.encode(encoder));
        }
    }

    pub(super) fn dictionary_message(&mut self, msg: &Msg<'_>) {
        let stream_id = msg.stream_id();
        let download = &mut self.core.download;
        if *download.half_of(stream_id) != Half::Requested {
            return;
        }
        let refresh = match DictionaryMsg::decode(msg) {
            Ok(DictionaryMsg::Refresh(refresh)) => refresh,
            Ok(DictionaryMsg::Status(status)) => {
                // Asked for again when the directory changes.
                if status.state.is_some_and(|state| is_final(state.stream)) {
                    *download.half_of(stream_id) = Half::Missing;
                }
                return;
            }
            Ok(_) => return,
            Err(_) => {
                self.core.counts.malformed += 1;
                return;
            }
        };
        let builder = download.builder.get_or_insert_default();
        let is_fields = match DictionaryType::of_part(&refresh.payload) {
            Ok(Some(dictionary_type)) => dictionary_type == DictionaryType::Fields,
            _ => stream_id == FIELDS_STREAM,
        };
        let added = match is_fields {
            true => builder.add_fields_part(&refresh.payload),
            false => builder.add_enums_part(&refresh.payload),
        };
        // The entries before a fault are there: some is better than none.
        if added.is_err() {
            self.core.counts.malformed += 1;
        }
        if refresh.complete {
            *download.half_of(stream_id) = Half::Complete;
        }
        self.finish_download();
    }

    fn finish_download(&mut self) {
        if !self.core.download.is_complete() {
            return;
        }
        let Some(builder) = self.core.download.builder.take() else { return };
        let dictionary = Arc::new(builder.build());
        self.core.dictionary = Some(Arc::clone(&dictionary));
        self.out.dictionary(&dictionary);
        self.tell(ConsumerEvent::Dictionary { dictionary: &dictionary });
        if matches!(self.core.phase, Phase::Dictionary { .. }) {
            self.ready();
        }
    }
}
