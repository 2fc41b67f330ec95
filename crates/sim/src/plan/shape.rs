//! How a world is built.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::item::{BOOKS, Item};

/// The usual [`Shape::receiver_bytes`].
pub(crate) const RECEIVER_BYTES: usize = 2 << 20;

/// How sources stand by for each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MirrorWay {
    /// Images are kept, and compared. Every other service goes back to its first source
    /// after a while; an item of the others goes on while any source has it.
    Images,
    /// Streams alone are kept; some services go back.
    Streams,
    /// Images are kept, and sources number what they send alike.
    Numbers,
    /// Images are kept. A source that is down for a moment is waited for, and is used
    /// again when nothing changes.
    Patience,
}

impl MirrorWay {
    pub(crate) const ALL: [Self; 4] = [Self::Images, Self::Streams, Self::Numbers, Self::Patience];
}

/// The shape of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a switch of its own")]
pub(crate) struct Shape {
    pub(crate) hubs: usize,
    pub(crate) servers: usize,
    /// Interactive providers,
    pub(crate) sources: usize,
    /// and services that each of them offers.
    pub(crate) services: usize,
    /// Non-interactive providers,
    pub(crate) publishers: usize,
    /// and services that each of them publishes.
    pub(crate) published: usize,
    /// Quotes of each service,
    pub(crate) items: usize,
    /// and books.
    pub(crate) books: usize,
    /// For each consumer, whether it speaks JSON.
    pub(crate) consumers: Vec<bool>,
    pub(crate) hub_cache: bool,
    pub(crate) server_cache: bool,
    pub(crate) pause_upstream: bool,
    /// Whether each hub has a source of its own rather than all of them.
    pub(crate) own_sources: bool,
    /// Items are in groups.
    pub(crate) groups: bool,
    pub(crate) images: Images,
    /// Requests that a service takes at a time, and items at most; 0: it says
    /// nothing of that.
    pub(crate) open_window: u64,
    pub(crate) open_limit: u64,
    pub(crate) socket_delay: Duration,
    pub(crate) socket_jitter: Duration,
    pub(crate) segment_bytes: usize,
    /// What a connection to a server holds.
    pub(crate) window_bytes: usize,
    /// The same of those with providers; 0: as much as is usual.
    pub(crate) provider_window_bytes: usize,
    pub(crate) backbone_delay: Duration,
    /// Most output that a server keeps for a mount.
    pub(crate) output_bytes: usize,
    /// The same of hubs and providers for each other; 0: as is usual.
    pub(crate) provider_output_bytes: usize,
    /// Most that a server keeps merged for slow mounts; 0: as is usual.
    pub(crate) merged_bytes: usize,
    /// Bytes that wait in a port of the backbone.
    pub(crate) queue_bytes: usize,
    /// Bytes that may lie unread before a member of the backbone.
    pub(crate) receiver_bytes: usize,
    /// Requests that a server has without answers at a hub; 0: as is usual.
    pub(crate) server_window: usize,
    /// Members of another system are on the backbone.
    pub(crate) strangers: bool,
    /// Somebody publishes what is others'.
    pub(crate) forger: bool,
    /// Sources stand by for each other, item by item.
    pub(crate) mirrored: bool,
    /// How they do.
    pub(crate) mirror_way: MirrorWay,
    /// What is open goes to sources that have less to do.
    pub(crate) balanced: bool,
    /// Some items have locks, and servers a policy.
    pub(crate) locks: bool,
    /// Every other consumer says in its login which types of updates it wants: all that
    /// there are.
    pub(crate) filters: bool,
    /// Each source has names of its own for its services, and hubs have groups of
    /// these.
    pub(crate) grouped: bool,
    /// What passes between two looks at a clock.
    pub(crate) look_at_clock: Duration,
    /// The longest that nobody is asked whether there is something to do: parties
    /// have timers that they do not tell.
    pub(crate) longest_turn: Duration,
}

/// How providers send images.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Images {
    /// In so many parts at most,
    pub(crate) most_parts: u16,
    /// so far apart.
    pub(crate) apart_ms: u64,
    /// How many of a hundred that are in parts have numbers,
    pub(crate) numbered_percent: u64,
    /// and how many never end.
    pub(crate) endless_percent: u64,
    /// What each is longer by.
    pub(crate) padding_bytes: usize,
}

impl Images {
    /// Each at once.
    pub(crate) const WHOLE: Self = Self {
        most_parts: 1,
        apart_ms: 0,
        numbered_percent: 100,
        endless_percent: 0,
        padding_bytes: 0,
    };
}

impl Shape {
    /// What a source calls a service.
    pub(crate) fn name_at(&self, source: usize, service: usize) -> String {
        match self.grouped {
            true => format!("S{service} of {source}"),
            false => format!("S{service}"),
        }
    }

    /// One of each, and all of it as it usually is.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self {
        hubs: 1,
        servers: 1,
        sources: 1,
        services: 1,
        publishers: 0,
        published: 0,
        items: 1,
        books: 0,
        consumers: Vec::new(),
        hub_cache: false,
        server_cache: false,
        pause_upstream: false,
        own_sources: false,
        groups: false,
        images: Images::WHOLE,
        open_window: 0,
        open_limit: 0,
        socket_delay: Duration::ZERO,
        socket_jitter: Duration::ZERO,
        segment_bytes: usize::MAX,
        window_bytes: 256 << 10,
        provider_window_bytes: 0,
        backbone_delay: Duration::ZERO,
        output_bytes: 5_000 * 6_144,
        provider_output_bytes: 0,
        merged_bytes: 0,
        queue_bytes: 4 << 20,
        receiver_bytes: RECEIVER_BYTES,
        server_window: 0,
        strangers: false,
        forger: false,
        mirrored: false,
        mirror_way: MirrorWay::Images,
        balanced: false,
        locks: false,
        filters: false,
        grouped: false,
        look_at_clock: Duration::ZERO,
        longest_turn: Duration::from_millis(20),
    };

    /// Services of all providers.
    pub(crate) const fn all_services(&self) -> usize {
        self.services + self.published
    }

    /// Items of a service.
    pub(crate) fn items_of(&self, service: usize) -> impl Iterator<Item = Item> + use<> {
        let names = (0..self.items).chain(BOOKS..BOOKS + self.books);
        names.map(move |name| Item { service, name })
    }

    /// The item with a number, of all there are.
    pub(crate) const fn item(&self, number: usize) -> Item {
        let (services, names) = (self.all_services(), self.items + self.books);
        let place = number / services % names;
        let name = if place < self.items { place } else { BOOKS + place - self.items };
        Item { service: number % services, name }
    }

    /// Items of all services.
    pub(crate) const fn all_items(&self) -> usize {
        self.all_services() * (self.items + self.books)
    }
}

/// The most that there are of each kind in a world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parties {
    /// Hubs.
    pub hubs: usize,
    /// Servers.
    pub servers: usize,
    /// Interactive providers.
    pub sources: usize,
    /// Non-interactive providers; there may be none.
    pub publishers: usize,
    /// Consumers.
    pub consumers: usize,
    /// Services of interactive providers.
    pub services: usize,
    /// Quotes of each service.
    pub items: usize,
    /// Books of each service; there may be none.
    pub books: usize,
}

impl Parties {
    /// As many as the seed says.
    pub const ALL: Self = Self::from_numbers([usize::MAX; 8]);

    /// The least that there can be of each kind.
    const LEAST: [usize; 8] = [1, 1, 1, 0, 1, 1, 1, 0];

    const fn from_numbers(numbers: [usize; 8]) -> Self {
        let [hubs, servers, sources, publishers, consumers, services, items, books] = numbers;
        Self { hubs, servers, sources, publishers, consumers, services, items, books }
    }

    const fn numbers(&self) -> [usize; 8] {
        let Self { hubs, servers, sources, publishers, consumers, services, items, books } = *self;
        [hubs, servers, sources, publishers, consumers, services, items, books]
    }

    /// Fewer than there are of each kind, a kind at a time: as few as there can
    /// be, half as many, one less.
    pub(crate) fn fewer(shape: &Shape) -> impl Iterator<Item = Self> + use<> {
        let now = [
            shape.hubs,
            shape.servers,
            shape.sources,
            shape.publishers,
            shape.consumers.len(),
            shape.services,
            shape.items,
            shape.books,
        ];
        let kinds = now.into_iter().zip(Self::LEAST).enumerate();
        let fewer = kinds.filter(|(_, (count, least))| count > least);
        fewer.flat_map(move |(kind, (count, least))| {
            let mut counts = vec![least, count / 2, count - 1];
            counts.retain(|it| *it >= least && *it < count);
            counts.dedup();
            counts.into_iter().map(move |count| {
                let mut numbers = now;
                numbers[kind] = count;
                Self::from_numbers(numbers)
            })
        })
    }
}

impl fmt::Display for Parties {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.numbers().map(|number| number.to_string()).join(","))
    }
}

impl FromStr for Parties {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers: Result<Vec<usize>, _> = text.split(',').map(str::parse).collect();
        let numbers: Option<[usize; 8]> = numbers.ok().and_then(|numbers| numbers.try_into().ok());
        let is_enough =
            |numbers: &[usize; 8]| numbers.iter().zip(Self::LEAST).all(|(n, l)| *n >= l);
        let numbers = numbers.filter(is_enough).ok_or(
            "eight numbers: hubs, servers, sources, publishers, consumers, services, items and \
             books; of publishers and books there may be 0",
        )?;
        Ok(Self::from_numbers(numbers))
    }
}

impl Shape {
    /// Whether what is said is heard at once, or as good as.
    pub(crate) fn is_fast(&self) -> bool {
        let windows = [self.window_bytes, self.provider_window_bytes];
        let is_narrow = windows.into_iter().any(|bytes| (1..16 << 10).contains(&bytes));
        let is_late = self.socket_delay.max(self.backbone_delay) > Duration::from_millis(3);
        let has_much = self.images.padding_bytes > 0 || self.all_items() > 100;
        !is_narrow && !is_late && !has_much && self.segment_bytes >= 200
    }

    /// How long the images of everything take to a hub, which takes a window of bytes
    /// in each round trip.
    pub(crate) fn images_take(&self) -> Duration {
        let Self { images, provider_window_bytes, .. } = self;
        let bytes = self.all_items() * usize::from(images.most_parts) * images.padding_bytes;
        let round_trips = bytes.checked_div(*provider_window_bytes).unwrap_or(0);
        2 * self.socket_delay * u32::try_from(round_trips).unwrap_or(u32::MAX)
    }

    /// How long it takes to ask for everything, one item at a time: from a consumer to
    /// a source and back, by parties that look at the clock so often on the way.
    pub(crate) fn requests_take(&self) -> Duration {
        let looks = 80 * self.look_at_clock;
        let round_trip = 4 * self.socket_delay + 2 * self.backbone_delay + looks;
        round_trip * u32::try_from(self.all_items()).unwrap_or(u32::MAX)
    }

    /// Makes it one.
    pub(crate) fn make_fast(&mut self) {
        let most = Duration::from_millis(3);
        self.socket_delay = self.socket_delay.min(most);
        self.backbone_delay = self.backbone_delay.min(most);
        self.window_bytes = self.window_bytes.max(16 << 10);
        if self.provider_window_bytes > 0 {
            self.provider_window_bytes = self.provider_window_bytes.max(16 << 10);
        }
        self.images.padding_bytes = 0;
        self.segment_bytes = self.segment_bytes.max(200);
    }

    /// The same with no more than so many of each kind.
    pub(crate) fn limit(&mut self, most: &Parties) {
        self.hubs = self.hubs.min(most.hubs);
        self.servers = self.servers.min(most.servers);
        self.sources = self.sources.min(most.sources);
        self.publishers = self.publishers.min(most.publishers);
        self.consumers.truncate(most.consumers);
        self.services = self.services.min(most.services);
        self.items = self.items.min(most.items);
        self.books = self.books.min(most.books);
        // Each hub needs one.
        self.own_sources &= self.hubs == self.sources;
        if self.publishers == 0 {
            self.published = 0;
        }
    }
}
