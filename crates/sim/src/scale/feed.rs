//! The one source: what it was asked, and what it sends.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    Payload, Provider, ProviderConfig, ProviderEvent, RefreshHead, Responses, ServiceSpec,
    StreamHandle, UpdateHead,
};
use tapeline_channel::ReactorConfig;
use tapeline_channel::sim::{Host, Network};
use tapeline_omm::market::ItemRequest;
use tapeline_rwf::{DataType, EncodeError, Encoded, FieldListHead, Primitive, Real, Slot};

/// What its service is called.
pub(super) const SERVICE: &str = "S";

/// `ACVOL_1`: how often the item has changed.
const SEQ: i16 = 32;

/// `BID`, `ASK`, `BIDSIZE`, `ASKSIZE`, `TRDPRC_1`, `HIGH_1`, `LOW_1`, `NETCHNG_1`.
const OTHERS: [i16; 8] = [22, 25, 30, 31, 6, 12, 13, 11];

/// What an item is called.
pub(super) fn name(item: u32) -> String {
    format!("I{item}")
}

/// The value of an item: how often it has changed.
#[derive(Clone, Copy, Debug)]
struct Value(u32);

impl Payload for Value {
    fn data_type(&self) -> DataType {
        DataType::FIELD_LIST
    }

    fn write(&self, place: Slot<'_, '_>) -> Result<(), EncodeError> {
        let mut list = place.field_list(&FieldListHead::STANDARD)?;
        list.put(SEQ, number(i64::from(self.0)))?;
        for (field_id, offset) in OTHERS.into_iter().zip(1_000_000..) {
            list.put(field_id, number(offset + i64::from(self.0)))?;
        }
        list.finish()
    }
}

const fn number(value: i64) -> Primitive<'static> {
    Primitive::Real(Real::decimal(value, 2))
}

/// The value that a message has.
pub(super) fn value(payload: &Encoded<'_>) -> Option<u32> {
    let list = payload.field_list().ok()?;
    let real = list.field(SEQ).ok()??.typed(DataType::REAL).real().ok()??;
    Some((real.to_f64() * 100.0).round() as u32)
}

/// What a source was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// Requests for items.
    pub requests: u64,
    /// Requests for another image of an item that is open.
    pub images: u64,
    /// Other changes of what is wanted of such an item.
    pub changes: u64,
    /// Items that were closed.
    pub closes: u64,
}

impl Asked {
    pub(super) const fn since(self, before: Self) -> Self {
        Self {
            requests: self.requests - before.requests,
            images: self.images - before.images,
            changes: self.changes - before.changes,
            closes: self.closes - before.closes,
        }
    }
}

/// A provider of one service.
pub(super) struct Feed {
    provider: Provider<Host>,
    /// The item of each stream, by its index.
    items: Vec<u32>,
    /// The stream of each item.
    streams: Vec<Option<StreamHandle>>,
    /// How often each has changed.
    values: Vec<u32>,
    pub(super) asked: Asked,
    /// Items that are open.
    pub(super) open: usize,
}

impl Feed {
    pub(super) fn new(network: &Network, at: SocketAddr) -> Self {
        let services = [ServiceSpec::new(1, SERVICE).entry()];
        let mut config = ProviderConfig::new(services);
        config.max_streams_per_client = usize::MAX;
        let system = network.host(at.ip());
        let mut provider = Provider::with_system(config, ReactorConfig::default(), system);
        provider.listen(at).expect("nobody else listens there");
        Self {
            provider,
            items: Vec::new(),
            streams: Vec::new(),
            values: Vec::new(),
            asked: Asked::default(),
            open: 0,
        }
    }

    pub(super) fn value(&self, item: u32) -> u32 {
        self.values.get(item as usize).copied().unwrap_or_default()
    }

    /// An item changes; what is open of it is told.
    pub(super) fn change(&mut self, item: u32) {
        let Some(value) = self.values.get_mut(item as usize) else { return };
        *value += 1;
        let value = Value(*value);
        if let Some(Some(stream)) = self.streams.get(item as usize) {
            // One without an image needs none.
            self.provider.with(|responses| {
                let _ = responses.update(*stream, &UpdateHead::QUOTE, &value);
            });
        }
    }

    pub(super) fn turn(&mut self) -> usize {
        let Self { provider, items, streams, values, asked, open } = self;
        let send = |stream, item: u32, values: &[u32], responses: &mut Responses<'_>| {
            let value = Value(values.get(item as usize).copied().unwrap_or_default());
            // Its hub may be gone.
            let _ = responses.refresh(stream, &RefreshHead::default(), &value);
        };
        let mut hear = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| match event {
            ProviderEvent::Request { stream, request, .. } => {
                let item = item_of(request).expect("only items of ours are asked for");
                asked.requests += 1;
                *open += 1;
                put(items, stream.index(), item);
                put(streams, item as usize, Some(stream));
                if values.len() <= item as usize {
                    values.resize(item as usize + 1, 0);
                }
                send(stream, item, values, responses);
            }
            ProviderEvent::Reissue { wants_image: false, .. } => asked.changes += 1,
            ProviderEvent::Reissue { stream, .. } => {
                asked.images += 1;
                let item = items.get(stream.index()).copied().unwrap_or_default();
                send(stream, item, values, responses);
            }
            ProviderEvent::Close { stream } => {
                asked.closes += 1;
                *open -= 1;
                let item = items.get(stream.index()).copied().unwrap_or_default();
                if let Some(its) = streams.get_mut(item as usize)
                    && *its == Some(stream)
                {
                    *its = None;
                }
            }
            _ => {}
        };
        provider.poll(Some(Duration::ZERO), &mut hear)
    }
}

fn put<T: Clone + Default>(table: &mut Vec<T>, at: usize, value: T) {
    if table.len() <= at {
        table.resize(at + 1, T::default());
    }
    table[at] = value;
}

fn item_of(request: &ItemRequest<'_>) -> Option<u32> {
    let name = std::str::from_utf8(request.key.name?).ok()?;
    name.strip_prefix('I')?.parse().ok()
}
