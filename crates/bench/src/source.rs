//! The source: a provider that publishes what is asked of it.

use std::net::SocketAddr;
use std::time::Duration;

use tapeline_api::{
    ApiError, Flow, Provider, ProviderConfig, ProviderEvent, ProviderHandler, RefreshHead,
    Responses, ServiceSpec, StreamHandle,
};

use crate::update;

/// The service of the items.
pub(crate) const SERVICE: &str = "BENCH";

/// The name of an item: all have one length.
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
                self.image(stream, responses);
            }
            // Who comes later, where nothing is cached.
            ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                self.image(stream, responses);
            }
            ProviderEvent::Drained { .. } => self.is_slow = false,
            _ => {}
        }
    }
}

impl Book {
    fn image(&mut self, stream: StreamHandle, responses: &mut Responses<'_>) {
        let sent = responses.refresh(stream, &RefreshHead::default(), &update::fields());
        self.trouble = sent.err().or(self.trouble.take());
    }
}

impl Source {
    /// A source of so many items, which listens.
    pub(crate) fn listen(items: usize) -> Result<(Self, SocketAddr), ApiError> {
        let config = ProviderConfig::new([ServiceSpec::new(1, SERVICE).entry()]);
        let mut provider = Provider::new(config)?;
        let address = provider.listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let book = Book { streams: vec![None; items], ..Book::default() };
        Ok((Self { provider, book }, address))
    }

    /// Reads and writes what there is.
    pub(crate) fn poll(&mut self) -> usize {
        self.provider.poll(Some(Duration::ZERO), &mut self.book)
    }

    /// Sends an update of an item, if anybody has asked for it. It leaves with
    /// the next [`flush`](Self::flush).
    #[inline]
    pub(crate) fn send(&mut self, item: usize, update: &[u8]) {
        let Self { provider, book } = self;
        let Some(stream) = book.streams[item] else { return };
        match provider.with(|responses| responses.send(stream, update)) {
            Ok(Flow::Free) => {}
            Ok(Flow::Slow) => book.is_slow = true,
            Err(error) => book.trouble = Some(error),
        }
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
    pub(crate) fn trouble(&self) -> Option<&ApiError> {
        self.book.trouble.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_found_by_their_names() {
        assert_eq!(item_of(&item_name(42)), Some(42));
        assert_eq!(item_of(&item_name(1_234_567)), Some(1_234_567));
        assert_eq!(item_of("X000042"), None);
        assert_eq!(item_of("I00004x"), None);
    }
}
