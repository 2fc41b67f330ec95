//! What a client does with its items.

use std::sync::Arc;
use std::time::Duration;

use tapeline_api::{ConsumerEvent, ConsumerHandler, Handle, ItemSpec, Requests};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{State, StreamState};

use super::Args;
use super::measuring::Measuring;
use super::opening::Opening;
use super::output::{Output, Shown};
use super::statistics::Images;
use crate::failure::{Failure, Verdict, warn};
use tapeline_api::ByHandle;

/// How far an item is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    /// Nothing came yet.
    Requested,
    /// Its image is complete.
    HasImage,
    /// It was closed before its image came.
    Refused,
}

struct Item {
    name: String,
    progress: Progress,
    /// Whether anything came for it.
    is_answered: bool,
}

/// The items of a client, and what came for them.
pub(super) struct Watch<'a, 'o> {
    args: &'a Args,
    service: String,
    items: Vec<Item>,
    by_handle: ByHandle,
    opening: Opening,
    images: usize,
    refused: usize,
    /// Items that are not to come any more.
    over: usize,
    updates: u64,
    login_refused: Option<String>,
    dictionary: Arc<FieldDictionary>,
    measuring: Option<Measuring>,
    output: Output<'o>,
}

impl<'a, 'o> Watch<'a, 'o> {
    pub(super) fn new(
        args: &'a Args,
        names: Vec<String>,
        measuring: Option<Measuring>,
        output: Output<'o>,
    ) -> Self {
        let window = args.open_window.map_or(usize::MAX, |window| window as usize);
        let opening = Opening::new(names.len(), window);
        let item = |name| Item { name, progress: Progress::Requested, is_answered: false };
        Self {
            args,
            service: args.service.clone().unwrap_or_default(),
            items: names.into_iter().map(item).collect(),
            by_handle: ByHandle::default(),
            opening,
            images: 0,
            refused: 0,
            over: 0,
            updates: 0,
            login_refused: None,
            dictionary: Arc::new(FieldDictionary::builtin().clone()),
            measuring,
            output,
        }
    }

    /// Whether there is nothing more to wait for.
    pub(super) fn is_done(&self) -> bool {
        self.login_refused.is_some()
            || self.args.updates.is_some_and(|wanted| self.updates >= wanted)
            || self.over == self.items.len()
            || (self.args.exit_after_image && self.images().are_answered())
    }

    fn images(&self) -> Images {
        Images { complete: self.images, refused: self.refused, wanted: self.items.len() }
    }

    /// How long until counts are to be shown.
    pub(super) fn next_tick(&self) -> Duration {
        self.measuring.as_ref().map_or(Duration::MAX, Measuring::next_tick)
    }

    /// The end of a turn: what was gathered is shown.
    pub(super) fn turn(&mut self) -> Result<(), Failure> {
        let images = self.images();
        if let Some(measuring) = &mut self.measuring {
            for line in measuring.turn(images)? {
                self.output.line(&line);
            }
        }
        Ok(self.output.flush()?)
    }

    /// The end: whether all went well.
    pub(super) fn finish(mut self) -> Result<Verdict, Failure> {
        let images = self.images();
        if let Some(measuring) = &mut self.measuring {
            for line in measuring.finish(images)? {
                self.output.line(&line);
            }
        }
        self.output.flush()?;
        if let Some(text) = self.login_refused {
            return Err(Failure::LoginRefused(text));
        }
        let without = self.items.iter().filter(|item| item.progress == Progress::Requested).count();
        if without > 0 {
            warn(&format!("{without} of {} items got no image", self.items.len()));
        }
        if self.refused > 0 {
            warn(&format!("{} of {} items were refused", self.refused, self.items.len()));
        }
        Ok(Verdict::of(without + self.refused > 0))
    }

    /// Opens the items that may be opened now, each once: after a loss they are
    /// opened again by themselves.
    pub(super) fn open(&mut self, requests: &mut Requests<'_>) {
        if !requests.is_ready() {
            return;
        }
        if self.service.is_empty() {
            let mut services = requests.directory().services();
            let Some(name) = services.find_map(|(_, service)| service.name().cloned()) else {
                return;
            };
            self.service = name.to_string();
        }
        let wanted = self.opening.take();
        if wanted.is_empty() {
            return;
        }
        let mut spec = ItemSpec::new(self.service.as_str(), "").domain(self.args.domain);
        if self.args.snapshot {
            spec = spec.snapshot();
        }
        if !self.args.fields.is_empty() {
            spec = spec.fields(self.args.fields.iter().copied());
        }
        let items = &self.items[wanted.clone()];
        let names: Vec<&str> = items.iter().map(|item| item.name.as_str()).collect();
        match requests.open_batch(&spec, &names) {
            Ok(handles) => {
                for (item, handle) in wanted.zip(handles) {
                    self.by_handle.set(handle.index(), item);
                }
            }
            Err(error) => warn(&error.to_string()),
        }
    }

    /// The item of a handle, for which something came.
    fn item(&mut self, handle: Handle) -> Option<usize> {
        let number = self.by_handle.get(handle.index())?;
        let item = self.items.get_mut(number)?;
        if !std::mem::replace(&mut item.is_answered, true) {
            self.opening.note_answer();
        }
        Some(number)
    }

    /// The item has a state; `is_image` if it came with a whole image.
    fn progress(&mut self, item: usize, state: Option<&State<'_>>, is_image: bool) {
        let is_final = state.is_some_and(|state| {
            !matches!(state.stream, StreamState::OPEN | StreamState::UNSPECIFIED)
        });
        let progress = &mut self.items[item].progress;
        let was_requested = *progress == Progress::Requested;
        if was_requested && is_image {
            *progress = Progress::HasImage;
            self.images += 1;
        } else if was_requested && is_final {
            *progress = Progress::Refused;
            self.refused += 1;
        }
        // The parts of a snapshot all say that it does not stream.
        let is_end = is_final && (is_image || state.is_some_and(is_closed));
        self.over += usize::from(is_end);
    }

    fn show(
        &mut self,
        item: usize,
        event: &'static str,
        state: Option<State<'_>>,
        detail: Option<String>,
        payload: Option<tapeline_rwf::Encoded<'_>>,
    ) {
        let shown = Shown {
            event,
            service: &self.service,
            item: &self.items[item].name,
            state,
            detail,
            payload,
        };
        self.output.show(&shown, &self.dictionary);
    }

    fn login(&mut self, state: &State<'_>) {
        if is_closed(state) {
            let text = String::from_utf8_lossy(state.text);
            self.login_refused = Some(format!("{text} ({})", state.code));
        }
    }
}

fn is_closed(state: &State<'_>) -> bool {
    matches!(state.stream, StreamState::CLOSED | StreamState::CLOSED_RECOVER)
}

impl ConsumerHandler for Watch<'_, '_> {
    fn event(&mut self, event: ConsumerEvent<'_>, requests: &mut Requests<'_>) {
        match event {
            ConsumerEvent::Login { state, .. } => self.login(&state),
            ConsumerEvent::Dictionary { dictionary } => self.dictionary = Arc::clone(dictionary),
            ConsumerEvent::Ready | ConsumerEvent::Directory { .. } => self.open(requests),
            ConsumerEvent::Refresh { handle, msg } => {
                let Some(item) = self.item(handle) else { return };
                let is_complete = msg.flags.contains(tapeline_rwf::RefreshFlags::REFRESH_COMPLETE);
                self.progress(item, Some(&msg.state), is_complete);
                let detail = msg.part_num.map(|part| format!("part {part}"));
                self.show(item, "refresh", Some(msg.state), detail, Some(msg.payload));
            }
            ConsumerEvent::Update { handle, msg } => {
                let Some(item) = self.item(handle) else { return };
                if self.is_done() {
                    return;
                }
                self.updates += 1;
                if let Some(measuring) = &mut self.measuring {
                    measuring.update(&self.items[item].name, msg, &self.dictionary);
                }
                if !self.output.form().shows_data {
                    return;
                }
                let detail = Some(msg.update_type.to_string());
                self.show(item, "update", None, detail, Some(msg.payload));
            }
            ConsumerEvent::Status { handle, msg } => {
                let Some(item) = self.item(handle) else { return };
                if let Some(measuring) = &mut self.measuring {
                    measuring.status();
                }
                self.progress(item, msg.state.as_ref(), false);
                self.show(item, "status", msg.state, None, None);
            }
            ConsumerEvent::Generic { handle: Some(handle), msg } => {
                let Some(item) = self.item(handle) else { return };
                self.show(item, "generic", None, None, Some(msg.payload));
            }
            ConsumerEvent::Up { .. }
            | ConsumerEvent::Down { .. }
            | ConsumerEvent::Active { .. }
            | ConsumerEvent::LeftOut { .. }
            | ConsumerEvent::Generic { .. }
            | ConsumerEvent::Ack { .. } => {}
        }
    }
}
