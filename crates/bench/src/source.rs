//! The source: a provider that publishes what is asked of it.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    ApiError, Flow, Provider, ProviderConfig, ProviderEvent, ProviderHandler, RefreshHead,
    Responses, ServiceSpec, StreamHandle,
};

use crate::clock::now_ns;
use crate::update::{self, Update};

pub(crate) const SERVICE: &str = "BENCH";

/// The name of an item.
pub(crate) fn item_name(item: usize) -> String {
    format!("I{item:06}")
}

fn item_of(name: &str) -> Option<usize> {
    name.strip_prefix('I')?.parse().ok()
}

/// A provider with its open streams.
pub(crate) struct Source {
    provider: Provider,
    book: Book,
    update: Update,
    /// The items of updates, one after the other, again and again.
    order: Vec<u32>,
    next: usize,
}

#[derive(Debug, Default)]
struct Book {
    /// By item.
    streams: Vec<Option<StreamHandle>>,
    /// Items that were asked for.
    open: usize,
    is_slow: bool,
    trouble: Option<ApiError>,
}

impl ProviderHandler for Book {
    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        match event {
            ProviderEvent::Request { stream, .. } => {
                let name = responses.stream(stream).and_then(|info| info.name.to_str());
                let item = name.and_then(item_of).filter(|item| *item < self.streams.len());
                let Some(item) = item else { return };
                self.open += usize::from(self.streams[item].replace(stream).is_none());
                let image = update::fields();
                if let Err(error) = responses.refresh(stream, &RefreshHead::default(), &image) {
                    self.trouble = Some(error);
                }
            }
            // Who comes later, where nothing is cached.
            ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                let image = update::fields();
                if let Err(error) = responses.refresh(stream, &RefreshHead::default(), &image) {
                    self.trouble = Some(error);
                }
            }
            ProviderEvent::Drained { .. } => self.is_slow = false,
            _ => {}
        }
    }
}

impl Source {
    /// A source of so many items, which listens.
    pub(crate) fn start(items: usize, order: Vec<u32>) -> Result<(Self, SocketAddr), ApiError> {
        let config = ProviderConfig::new([ServiceSpec::new(1, SERVICE).entry()]);
        let mut provider = Provider::new(config)?;
        let address = provider.listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let book = Book { streams: vec![None; items], ..Book::default() };
        Ok((Self { provider, book, update: Update::new(), order, next: 0 }, address))
    }

    /// Reads and writes what there is.
    pub(crate) fn poll(&mut self) -> usize {
        self.provider.poll(Some(Duration::ZERO), &mut self.book)
    }

    pub(crate) fn flush(&mut self) {
        self.provider.flush();
    }

    /// Items that were asked for.
    pub(crate) fn open_items(&self) -> usize {
        self.book.open
    }

    /// Whether the hub reads so slowly that the source should hold back.
    pub(crate) fn is_slow(&self) -> bool {
        self.book.is_slow
    }

    /// What went wrong.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.book.trouble.as_ref().map(ToString::to_string)
    }

    /// Bytes of an update.
    pub(crate) fn update_bytes(&self) -> usize {
        self.update.len()
    }

    /// Sends an update of the next item. It leaves with the next
    /// [`flush`](Self::flush). Returns the item.
    #[inline]
    pub(crate) fn send(&mut self, due_ns: u64) -> u32 {
        let item = self.order[self.next];
        self.next = if self.next + 1 == self.order.len() { 0 } else { self.next + 1 };
        let Self { provider, book, update, .. } = self;
        let Some(stream) = book.streams[item as usize] else { return item };
        let bytes = update.stamped(due_ns, now_ns());
        match provider.with(|responses| responses.send(stream, bytes)) {
            Ok(Flow::Free) => {}
            Ok(Flow::Slow) => book.is_slow = true,
            Err(error) => book.trouble = Some(error),
        }
        item
    }
}
