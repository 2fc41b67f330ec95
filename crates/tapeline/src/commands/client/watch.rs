//! What a client does with its items.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tapeline_api::{ConsumerEvent, ConsumerHandler, Handle, ItemSpec, Requests};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{State, StreamState};

use super::Args;
use super::output::{Output, Shown};
use super::statistics::Statistics;
use crate::failure::{Failure, Verdict, warn};
use crate::measure::age_us;

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
}

/// The items of a client, and what came for them.
pub(super) struct Watch<'a, 'o> {
    args: &'a Args,
    service: String,
    items: Vec<Item>,
    /// Which item a handle is, by its index.
    by_handle: Vec<usize>,
    is_opened: bool,
    images: usize,
    refused: usize,
    /// Items that are not to come any more.
    over: usize,
    updates: u64,
    login_refused: Option<String>,
    dictionary: Arc<FieldDictionary>,
    statistics: Statistics,
    output: Output<'o>,
}

impl<'a, 'o> Watch<'a, 'o> {
    pub(super) fn new(args: &'a Args, names: Vec<String>, output: Output<'o>) -> Self {
        let item = |name| Item { name, progress: Progress::Requested };
        Self {
            args,
            service: args.service.clone().unwrap_or_default(),
            items: names.into_iter().map(item).collect(),
            by_handle: Vec::new(),
            is_opened: false,
            images: 0,
            refused: 0,
            over: 0,
            updates: 0,
            login_refused: None,
            dictionary: Arc::new(FieldDictionary::builtin().clone()),
            statistics: Statistics::new(),
            output,
        }
    }

    /// Whether there is nothing more to wait for.
    pub(super) fn is_done(&self) -> bool {
        let is_answered = self.images + self.refused == self.items.len();
        self.login_refused.is_some()
            || self.args.updates.is_some_and(|wanted| self.updates >= wanted)
            || self.over == self.items.len()
            || (self.args.exit_after_image && is_answered)
    }

    /// How long until counts are to be shown.
    pub(super) fn next_tick(&self) -> Duration {
        match self.args.statistics {
            true => self.statistics.next_tick(),
            false => Duration::MAX,
        }
    }

    /// The end of a turn: what was gathered is shown.
    pub(super) fn turn(&mut self) -> io::Result<()> {
        if self.args.statistics {
            let is_json = self.output.form().is_json;
            for line in self.statistics.lines(self.images, self.items.len(), is_json) {
                self.output.line(&line);
            }
        }
        self.output.flush()
    }

    /// The end: whether all went well.
    pub(super) fn finish(mut self) -> Result<Verdict, Failure> {
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

    /// Opens all items, once: they are opened again by themselves.
    fn open(&mut self, requests: &mut Requests<'_>) {
        if self.is_opened {
            return;
        }
        if self.service.is_empty() {
            let mut services = requests.directory().services();
            let Some(name) = services.find_map(|(_, service)| service.name().cloned()) else {
                return;
            };
            self.service = name.to_string();
        }
        self.is_opened = true;
        let mut spec = ItemSpec::new(self.service.as_str(), "").domain(self.args.domain);
        if self.args.snapshot {
            spec = spec.snapshot();
        }
        if !self.args.fields.is_empty() {
            spec = spec.fields(self.args.fields.iter().copied());
        }
        let names: Vec<&str> = self.items.iter().map(|item| item.name.as_str()).collect();
        match requests.open_batch(&spec, &names) {
            Ok(handles) => {
                for (item, handle) in handles.into_iter().enumerate() {
                    let index = handle.index();
                    if self.by_handle.len() <= index {
                        self.by_handle.resize(index + 1, usize::MAX);
                    }
                    self.by_handle[index] = item;
                }
            }
            Err(error) => warn(&error.to_string()),
        }
    }

    fn item(&self, handle: Handle) -> Option<usize> {
        let item = *self.by_handle.get(handle.index())?;
        (item < self.items.len()).then_some(item)
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
            ConsumerEvent::Ready | ConsumerEvent::Directory { .. } => {
                if requests.is_ready() {
                    self.open(requests);
                }
            }
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
                self.statistics.updates += 1;
                if self.args.statistics {
                    if let Some(age_us) = age_us(msg) {
                        self.statistics.latency.record_us(age_us);
                    }
                    return;
                }
                let detail = Some(msg.update_type.to_string());
                self.show(item, "update", None, detail, Some(msg.payload));
            }
            ConsumerEvent::Status { handle, msg } => {
                let Some(item) = self.item(handle) else { return };
                self.statistics.statuses += 1;
                self.progress(item, msg.state.as_ref(), false);
                self.show(item, "status", msg.state, None, None);
            }
            ConsumerEvent::Generic { handle: Some(handle), msg } => {
                let Some(item) = self.item(handle) else { return };
                self.show(item, "generic", None, None, Some(msg.payload));
            }
            ConsumerEvent::Up { .. }
            | ConsumerEvent::Down { .. }
            | ConsumerEvent::Generic { .. }
            | ConsumerEvent::Ack { .. } => {}
        }
    }
}
