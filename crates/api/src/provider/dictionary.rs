//! Dictionaries on their way to a client, part by part as it reads them.

use tapeline_channel::{Sent, SessionId};
use tapeline_omm::dictionary::{
    DictionaryType, ENUM_PART_LEN, FIELD_PART_LEN, Part as DictionaryPart, Verbosity,
};
use tapeline_omm::{DictionaryRefresh, DictionaryRequest};
use tapeline_rwf::{DataType, Encoded, Encoder, State, StreamState};

use super::core::{ProviderCore, ProviderOutputs};
use crate::consumer::{ENUMS_NAME, FIELDS_NAME};

/// One dictionary on its way.
#[derive(Clone, Debug)]
pub(super) struct DictionaryJob {
    request: DictionaryRequest,
    dictionary_type: DictionaryType,
    next_part: u16,
}

/// What became of a part.
enum Step {
    More,
    Wait,
    Done,
}

impl DictionaryJob {
    pub(super) const fn stream_id(&self) -> i32 {
        self.request.stream_id
    }

    fn head<'p>(&self, is_last: bool, part: &'p [u8]) -> DictionaryRefresh<'p> {
        let mut state = State::open_ok("");
        if !self.request.streaming {
            state.stream = StreamState::NON_STREAMING;
        }
        DictionaryRefresh {
            stream_id: self.request.stream_id,
            solicited: true,
            clear_cache: self.next_part == 0,
            complete: is_last,
            part_num: Some(self.next_part),
            state: state.into(),
            service_id: self.request.service_id,
            name: Some(self.request.name.clone()),
            verbosity: Some(self.request.verbosity),
            payload: Encoded::new(DataType::SERIES, part),
        }
    }
}

impl ProviderCore {
    /// The job of a request, if it is for a dictionary of the provider's own.
    pub(super) fn dictionary_job(&self, request: &DictionaryRequest) -> Option<DictionaryJob> {
        self.config.dictionary.as_ref()?;
        let dictionary_type = match request.name.to_str()? {
            FIELDS_NAME => DictionaryType::Fields,
            ENUMS_NAME => DictionaryType::Enums,
            _ => return None,
        };
        Some(DictionaryJob { request: request.clone(), dictionary_type, next_part: 0 })
    }

    /// Sends parts until the client is slow.
    pub(super) fn advance_jobs(&mut self, out: &mut dyn ProviderOutputs, session: SessionId) {
        loop {
            let Some(client) = self.client_mut(session) else { return };
            let Some(mut job) = client.jobs.pop_front() else { return };
            let step = self.send_part(out, session, &mut job);
            let Some(client) = self.client_mut(session) else { return };
            match step {
                Step::Done => {}
                Step::More => client.jobs.push_front(job),
                Step::Wait => return client.jobs.push_front(job),
            }
        }
    }

    /// The encoded parts of a dictionary, made when they are first asked for.
    fn encoded_parts(&mut self, which: Which) -> Option<&[Box<[u8]>]> {
        let dictionary = self.config.dictionary.as_ref()?;
        let (dictionary_type, verbosity) = which;
        let parts = self.dictionary_parts.entry((dictionary_type.code(), verbosity));
        let parts = parts.or_insert_with(|| {
            let parts = dictionary.parts(dictionary_type, verbosity, part_len(dictionary_type));
            parts.map_while(|part| encode_part(&part)).collect()
        });
        Some(parts)
    }

    fn send_part(
        &mut self,
        out: &mut dyn ProviderOutputs,
        session: SessionId,
        job: &mut DictionaryJob,
    ) -> Step {
        let mut scratch = self.scratch.take();
        let verbosity = Verbosity::from_filter(job.request.verbosity);
        let Some(parts) = self.encoded_parts((job.dictionary_type, verbosity)) else {
            return Step::Done;
        };
        let is_last = usize::from(job.next_part) + 1 >= parts.len();
        let Some(part) = parts.get(usize::from(job.next_part)) else { return Step::Done };
        let head = job.head(is_last, part);
        let encoded = scratch.encode(|encoder| head.encode(encoder));
        let sent = encoded.map(|message| out.send(session, message));
        self.scratch = scratch;
        match sent {
            Ok(Sent::Full) => return Step::Wait,
            Ok(Sent::Queued | Sent::Slow) if !is_last => {}
            _ => return Step::Done,
        }
        job.next_part += 1;
        match sent {
            Ok(Sent::Slow) => Step::Wait,
            _ => Step::More,
        }
    }
}

/// Which dictionary, and how much of it.
type Which = (DictionaryType, Verbosity);

const fn part_len(dictionary_type: DictionaryType) -> usize {
    match dictionary_type {
        DictionaryType::Fields => FIELD_PART_LEN,
        DictionaryType::Enums => ENUM_PART_LEN,
    }
}

fn encode_part(part: &DictionaryPart<'_>) -> Option<Box<[u8]>> {
    let mut buffer = vec![0; part.byte_len()];
    let mut encoder = Encoder::new(&mut buffer);
    part.write(encoder.container(DataType::SERIES)).ok()?;
    let len = encoder.finish().ok()?;
    buffer.truncate(len);
    Some(buffer.into())
}
