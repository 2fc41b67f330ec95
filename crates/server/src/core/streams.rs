//! The streams of a mount, by their ids.

use super::map::Map;
use super::stream::Stream;

/// Ids on a page. Clients count their streams up, so that pages are full.
const PAGE: i32 = 32;

type Page = [Option<Stream>; PAGE as usize];

/// The streams of a mount.
///
/// ```text
///   id / 32 ──► page: | stream or none | ... |   32 places of 16 bytes
/// ```
///
/// A stream of a client that counts its ids up takes 16 bytes and a bit; one
/// of a client that takes them at random up to 600.
#[derive(Debug, Default)]
pub(super) struct Streams {
    pages: Map<i32, Box<Paged>>,
    count: usize,
}

#[derive(Debug)]
struct Paged {
    streams: Page,
    /// How many places are taken.
    taken: u32,
}

const fn page_of(stream_id: i32) -> i32 {
    stream_id.div_euclid(PAGE)
}

const fn place_of(stream_id: i32) -> usize {
    stream_id.rem_euclid(PAGE) as usize
}

impl Streams {
    pub(super) const fn len(&self) -> usize {
        self.count
    }

    pub(super) fn contains(&self, stream_id: i32) -> bool {
        self.get(stream_id).is_some()
    }

    pub(super) fn get(&self, stream_id: i32) -> Option<&Stream> {
        self.pages.get(&page_of(stream_id))?.streams[place_of(stream_id)].as_ref()
    }

    pub(super) fn get_mut(&mut self, stream_id: i32) -> Option<&mut Stream> {
        self.pages.get_mut(&page_of(stream_id))?.streams[place_of(stream_id)].as_mut()
    }

    /// Puts a stream on an id, instead of any that is there.
    pub(super) fn insert(&mut self, stream_id: i32, stream: Stream) {
        let page = self.pages.entry(page_of(stream_id)).or_insert_with(|| {
            Box::new(Paged { streams: [const { None }; PAGE as usize], taken: 0 })
        });
        if page.streams[place_of(stream_id)].replace(stream).is_none() {
            page.taken += 1;
            self.count += 1;
        }
    }

    pub(super) fn remove(&mut self, stream_id: i32) -> Option<Stream> {
        let page = self.pages.get_mut(&page_of(stream_id))?;
        let stream = page.streams[place_of(stream_id)].take()?;
        page.taken -= 1;
        if page.taken == 0 {
            self.pages.remove(&page_of(stream_id));
        }
        self.count -= 1;
        Some(stream)
    }

    /// All streams with their ids, in the order of these.
    pub(super) fn iter(&self) -> impl Iterator<Item = (i32, &Stream)> {
        let mut pages: Vec<_> = self.pages.iter().collect();
        pages.sort_unstable_by_key(|(number, _)| **number);
        pages.into_iter().flat_map(|(number, page)| {
            let ids = (0..PAGE).map(move |place| number * PAGE + place);
            ids.zip(&page.streams).filter_map(|(id, stream)| Some((id, stream.as_ref()?)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_stream_is_sixteen_bytes() {
        assert_eq!(size_of::<Option<Stream>>(), 16);
    }

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Insert(i32),
        Remove(i32),
    }

    fn step() -> impl Strategy<Value = Step> {
        let id = prop_oneof![-40..80_i32, Just(i32::MIN), Just(i32::MAX), any::<i32>()];
        (any::<bool>(), id).prop_map(|(insert, id)| match insert {
            true => Step::Insert(id),
            false => Step::Remove(id),
        })
    }

    proptest! {
        #[test]
        fn they_are_a_map_in_order(steps in prop::collection::vec(step(), 0..200)) {
            let (mut streams, mut known) = (Streams::default(), BTreeSet::new());
            for step in steps {
                match step {
                    Step::Insert(id) => {
                        streams.insert(id, Stream::Login);
                        known.insert(id);
                    }
                    Step::Remove(id) => {
                        prop_assert_eq!(streams.remove(id).is_some(), known.remove(&id));
                    }
                }
                prop_assert_eq!(streams.len(), known.len());
            }
            prop_assert!(streams.iter().map(|(id, _)| id).eq(known.iter().copied()));
            prop_assert!(known.iter().all(|id| streams.contains(*id)));
            let pages: BTreeSet<_> = known.iter().map(|id| page_of(*id)).collect();
            prop_assert_eq!(streams.pages.len(), pages.len(), "an empty page is not kept");
        }
    }
}
