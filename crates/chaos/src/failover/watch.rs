//! A consumer, and how long it is without data.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::lan::Host;
use crate::market::{Heard, Listener};
use crate::party::now_us;

/// What a consumer has heard since the last [`begin`](Watch::begin).
#[derive(Debug)]
pub struct Watch {
    items: Vec<Entry>,
    began_us: AtomicU64,
    data_us: AtomicU64,
    silence_us: AtomicU64,
    images: AtomicU64,
    stale: AtomicU64,
    closed: AtomicU64,
    is_over: AtomicBool,
}

#[derive(Debug, Default)]
struct Entry {
    is_suspect: AtomicBool,
    /// The last number that was published when it began.
    published: AtomicU32,
    /// When data came that was on its way to nobody then; 0: not yet.
    back_us: AtomicU64,
}

/// What an interruption was to a consumer. Times are microseconds since it began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interruption {
    /// Until the first item had data again,
    pub first_us: u64,
    /// and the last.
    pub last_us: u64,
    /// The longest time without data of any item.
    pub silence_us: u64,
    /// Images that came.
    pub images: u64,
    /// Items that it was told are stale.
    pub stale: u64,
    /// Streams that ended.
    pub closed: u64,
}

impl Watch {
    fn new(items: usize) -> Self {
        let entry = || Entry { is_suspect: true.into(), ..Entry::default() };
        Self {
            items: (0..items).map(|_| entry()).collect(),
            began_us: AtomicU64::new(0),
            data_us: AtomicU64::new(0),
            silence_us: AtomicU64::new(0),
            images: AtomicU64::new(0),
            stale: AtomicU64::new(0),
            closed: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
        }
    }

    /// Begins anew: something is about to break, when `published` are the last numbers.
    pub fn begin(&self, published: impl Iterator<Item = u32>) {
        for count in [&self.images, &self.stale, &self.closed, &self.silence_us] {
            count.store(0, Ordering::Relaxed);
        }
        for (entry, number) in self.items.iter().zip(published) {
            entry.published.store(number, Ordering::Relaxed);
            entry.back_us.store(0, Ordering::Relaxed);
        }
        self.began_us.store(now_us(), Ordering::Release);
    }

    /// Whether every item has data that was not on its way when it began, and is not
    /// stale.
    pub fn is_back(&self) -> bool {
        self.items.iter().all(|entry| {
            entry.back_us.load(Ordering::Relaxed) > 0 && !entry.is_suspect.load(Ordering::Relaxed)
        })
    }

    /// What it was so far.
    pub fn interruption(&self) -> Interruption {
        let began_us = self.began_us.load(Ordering::Relaxed);
        let times = self.items.iter().map(|entry| entry.back_us.load(Ordering::Relaxed));
        let since = |at: Option<u64>| at.unwrap_or(0).saturating_sub(began_us);
        Interruption {
            first_us: since(times.clone().min()),
            last_us: since(times.max()),
            silence_us: self.silence_us.load(Ordering::Relaxed),
            images: self.images.load(Ordering::Relaxed),
            stale: self.stale.load(Ordering::Relaxed),
            closed: self.closed.load(Ordering::Relaxed),
        }
    }

    fn hear(&self, heard: Heard) {
        match heard {
            Heard::Image { item, is_ok, .. } => {
                self.images.fetch_add(1, Ordering::Relaxed);
                self.items[item].is_suspect.store(!is_ok, Ordering::Relaxed);
                self.data(item, is_ok);
            }
            Heard::Update { item, number, .. } => {
                let entry = &self.items[item];
                let is_new = number > entry.published.load(Ordering::Relaxed);
                self.data(item, is_new && !entry.is_suspect.load(Ordering::Relaxed));
            }
            Heard::State { item, is_ok, is_final } => {
                if let Some(is_ok) = is_ok {
                    let was_suspect = self.items[item].is_suspect.swap(!is_ok, Ordering::Relaxed);
                    self.stale.fetch_add(u64::from(!is_ok && !was_suspect), Ordering::Relaxed);
                }
                self.closed.fetch_add(u64::from(is_final), Ordering::Relaxed);
            }
            Heard::Down => {}
        }
    }

    fn data(&self, item: usize, is_back: bool) {
        let now_us = now_us();
        let before_us = self.data_us.swap(now_us, Ordering::Relaxed);
        let began_us = self.began_us.load(Ordering::Acquire);
        // What was quiet before it began counts from then on.
        let silence_us = now_us.saturating_sub(before_us.max(began_us));
        self.silence_us.fetch_max(silence_us, Ordering::Relaxed);
        if is_back {
            let back_us = &self.items[item].back_us;
            let _ = back_us.compare_exchange(0, now_us, Ordering::Relaxed, Ordering::Relaxed);
        }
    }
}

/// A consumer on a thread of a host. Gone when dropped.
#[derive(Debug)]
pub struct Watching {
    /// What it hears.
    pub watch: Arc<Watch>,
    thread: Option<JoinHandle<()>>,
}

impl Watching {
    /// One of so many items, opened by `open`.
    pub fn start(
        host: &Host,
        items: usize,
        open: impl FnOnce() -> Listener + Send + 'static,
    ) -> Self {
        let watch = Arc::new(Watch::new(items));
        let theirs = Arc::clone(&watch);
        let thread = host.spawn(move || {
            let mut listener = open();
            while !theirs.is_over.load(Ordering::Relaxed) {
                listener.poll(&mut |heard| theirs.hear(heard));
            }
        });
        Self { watch, thread: Some(thread) }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.watch.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(item: usize, is_ok: bool) -> Heard {
        Heard::Image { item, number: 5, is_ok }
    }

    fn update(item: usize, number: u32) -> Heard {
        Heard::Update { item, number, is_merged: false, count: 1 }
    }

    fn state(item: usize, is_ok: bool, is_final: bool) -> Heard {
        Heard::State { item, is_ok: Some(is_ok), is_final }
    }

    /// Two items that are well, of which 5 is published.
    fn watch() -> Watch {
        let watch = Watch::new(2);
        (0..2).for_each(|item| watch.hear(image(item, true)));
        watch.begin([5, 5].into_iter());
        assert!(!watch.is_back());
        watch
    }

    #[test]
    fn what_was_on_its_way_is_no_sign_of_life() {
        let watch = watch();
        watch.hear(update(0, 5));
        watch.hear(update(1, 6));
        assert!(!watch.is_back(), "item 0 had what was published before");
        watch.hear(update(0, 6));
        assert!(watch.is_back());
        let interruption = watch.interruption();
        assert!(interruption.first_us <= interruption.last_us);
        assert_eq!((interruption.images, interruption.stale, interruption.closed), (0, 0, 0));
    }

    #[test]
    fn an_image_is_one_unless_it_is_stale() {
        let watch = watch();
        watch.hear(state(0, false, false));
        watch.hear(state(0, false, false));
        watch.hear(update(0, 9));
        watch.hear(image(0, false));
        watch.hear(image(1, true));
        assert!(!watch.is_back());
        watch.hear(image(0, true));
        assert!(watch.is_back());
        watch.hear(state(1, false, true));
        let interruption = watch.interruption();
        assert_eq!((interruption.images, interruption.stale, interruption.closed), (3, 2, 1));
    }
}
