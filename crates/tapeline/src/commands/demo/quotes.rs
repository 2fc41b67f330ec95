//! The quotes of the demonstration: what the client sees, as a table.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tapeline_api::{ConsumerEvent, ConsumerHandler, ItemSpec, Requests};
use tapeline_feed::DEFAULT_STAMP_FIELD;
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{DataType, Encoded, State};

use super::summary::Summary;
use crate::commands::client::value_text;
use crate::console::{Align, Table, rate};
use crate::measure::Latency;
use tapeline_playback::age_us;

/// The fields of a row.
const SHOWN: [(i16, &str); 5] =
    [(22, "bid"), (25, "ask"), (30, "bid size"), (31, "ask size"), (6, "last")];

/// One item.
struct Row {
    name: String,
    values: [Option<String>; SHOWN.len()],
    state: String,
    has_image: bool,
    /// Updates of this interval.
    updates: u64,
}

/// All items, and what came for them.
pub(super) struct Quotes {
    service: String,
    rows: Vec<Row>,
    /// Which row a handle is, by its index.
    by_handle: Vec<usize>,
    is_opened: bool,
    dictionary: Arc<FieldDictionary>,
    began: Instant,
    interval_began: Instant,
    updates: u64,
    /// Items with their image, and when the last of them had it.
    images: usize,
    images_after: Option<Duration>,
    /// Of this interval, and of those before.
    latency: Latency,
    latency_before: Latency,
    table: Table,
}

impl Quotes {
    pub(super) fn new(service: &str, names: &[String]) -> Self {
        let row = |name: &String| Row {
            name: name.clone(),
            values: Default::default(),
            state: "requested".to_owned(),
            has_image: false,
            updates: 0,
        };
        let mut heads = vec![("item", Align::Left)];
        heads.extend(SHOWN.iter().map(|(_, head)| (*head, Align::Right)));
        heads.extend([("updates/s", Align::Right), ("state", Align::Left)]);
        let now = Instant::now();
        Self {
            service: service.to_owned(),
            rows: names.iter().map(row).collect(),
            by_handle: Vec::new(),
            is_opened: false,
            dictionary: Arc::new(FieldDictionary::builtin().clone()),
            began: now,
            interval_began: now,
            updates: 0,
            images: 0,
            images_after: None,
            latency: Latency::new(),
            latency_before: Latency::new(),
            table: Table::new(&heads),
        }
    }

    /// Updates since the start.
    pub(super) const fn updates(&self) -> u64 {
        self.updates
    }

    /// The lines of the interval that is over, and begins the next one.
    pub(super) fn lines(&mut self) -> Vec<String> {
        let now = Instant::now();
        let seconds = now.duration_since(self.interval_began).as_secs_f64().max(0.001);
        self.interval_began = now;
        let per_s = |updates: u64| rate((updates as f64 / seconds).round() as u64);
        self.table.clear();
        let mut all = 0;
        for row in &mut self.rows {
            let mut cells = vec![row.name.clone()];
            let values = row.values.iter();
            cells.extend(values.map(|value| value.clone().unwrap_or_else(|| "-".to_owned())));
            cells.extend([per_s(row.updates), row.state.clone()]);
            self.table.row(cells);
            all += row.updates;
            row.updates = 0;
        }
        let mut lines = self.table.lines();
        let second = now.duration_since(self.began).as_secs();
        let mut sum = format!("{second} s   {} updates/s", per_s(all));
        if let Some(latency) = self.latency.summary() {
            let _ = write!(
                sum,
                "   latency us: p50 {}  p99 {}  max {}",
                latency.p50_us, latency.p99_us, latency.max_us,
            );
        }
        self.latency_before.add(&self.latency);
        self.latency.clear();
        lines.push(sum);
        lines
    }

    /// All of it, from the start.
    pub(super) fn summary(&self) -> Summary {
        let mut latency = self.latency_before.clone();
        latency.add(&self.latency);
        Summary {
            time: self.began.elapsed(),
            items: self.rows.len(),
            images: self.images,
            images_after: self.images_after,
            updates: self.updates,
            latencies: latency.summary(),
        }
    }

    fn open(&mut self, requests: &mut Requests<'_>) {
        if self.is_opened {
            return;
        }
        self.is_opened = true;
        let spec = ItemSpec::new(self.service.as_str(), "");
        let names: Vec<&str> = self.rows.iter().map(|row| row.name.as_str()).collect();
        // The limit of items is far above a demonstration's.
        let handles = requests.open_batch(&spec, &names).unwrap_or_default();
        for (row, handle) in handles.into_iter().enumerate() {
            let index = handle.index();
            if self.by_handle.len() <= index {
                self.by_handle.resize(index + 1, usize::MAX);
            }
            self.by_handle[index] = row;
        }
    }

    fn row(&mut self, handle: tapeline_api::Handle) -> Option<&mut Row> {
        let row = *self.by_handle.get(handle.index())?;
        self.rows.get_mut(row)
    }

    fn apply(&mut self, handle: tapeline_api::Handle, payload: &Encoded<'_>) {
        let dictionary = Arc::clone(&self.dictionary);
        let Some(row) = self.row(handle) else { return };
        row.apply(payload, &dictionary);
    }
}

impl Row {
    /// Takes the fields that are shown.
    fn apply(&mut self, payload: &Encoded<'_>, dictionary: &FieldDictionary) {
        let Ok(list) = payload.field_list() else { return };
        for entry in list.iter().map_while(Result::ok) {
            let shown = SHOWN.iter().position(|(field_id, _)| *field_id == entry.field_id);
            let Some(at) = shown else { continue };
            let field = dictionary.field(entry.field_id);
            let data_type = field.map_or(DataType::BUFFER, |field| field.rwf_type);
            if let Ok(value) = entry.primitive(data_type) {
                self.values[at] = value_text(&value);
            }
        }
    }

    fn set_state(&mut self, state: &State<'_>) {
        self.state = format!("{} {}", state.stream, state.data);
    }
}

impl ConsumerHandler for Quotes {
    fn event(&mut self, event: ConsumerEvent<'_>, requests: &mut Requests<'_>) {
        match event {
            ConsumerEvent::Dictionary { dictionary } => self.dictionary = Arc::clone(dictionary),
            ConsumerEvent::Ready => self.open(requests),
            ConsumerEvent::Refresh { handle, msg } => {
                self.apply(handle, &msg.payload);
                let Some(row) = self.row(handle) else { return };
                row.set_state(&msg.state);
                if !std::mem::replace(&mut row.has_image, true) {
                    self.images += 1;
                    self.images_after = Some(self.began.elapsed());
                }
            }
            ConsumerEvent::Update { handle, msg } => {
                self.updates += 1;
                if let Some(age_us) = age_us(msg, DEFAULT_STAMP_FIELD) {
                    self.latency.record_us(age_us);
                }
                self.apply(handle, &msg.payload);
                if let Some(row) = self.row(handle) {
                    row.updates += 1;
                }
            }
            ConsumerEvent::Status { handle, msg } => {
                if let (Some(row), Some(state)) = (self.row(handle), &msg.state) {
                    row.set_state(state);
                }
            }
            _ => {}
        }
    }
}
