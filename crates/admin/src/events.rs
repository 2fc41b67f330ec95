//! What happens, told to whoever listens.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

use axum::response::sse::{Event, KeepAlive, Sse};
use tokio::sync::broadcast;
use tokio_stream::wrappers::BroadcastStream;
use tokio_stream::wrappers::errors::BroadcastStreamRecvError;
use tokio_stream::{Stream, StreamExt, iter};

/// Events that a listener may be behind; beyond it, it is told how many it missed.
const BEHIND: usize = 1_024;

/// Events that who comes later is told first.
const KEPT: usize = 100;

/// Where events of the process are given, each a line of JSON. Clones are the same
/// feed. Whoever gives one never waits for who listens.
#[derive(Clone, Debug)]
pub struct EventFeed {
    listeners: broadcast::Sender<Arc<str>>,
    kept: Arc<Mutex<VecDeque<Arc<str>>>>,
}

impl Default for EventFeed {
    fn default() -> Self {
        let (listeners, _) = broadcast::channel(BEHIND);
        Self { listeners, kept: Arc::default() }
    }
}

impl EventFeed {
    /// Tells of an event.
    pub fn tell(&self, line: &str) {
        let line: Arc<str> = line.into();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == KEPT {
            kept.pop_front();
        }
        kept.push_back(Arc::clone(&line));
        // Told under the lock: who comes now has it once.
        let _ = self.listeners.send(line);
    }

    fn listen(&self) -> (Vec<Arc<str>>, broadcast::Receiver<Arc<str>>) {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        (kept.iter().cloned().collect(), self.listeners.subscribe())
    }

    /// All events from some before now on, as server-sent events.
    pub(crate) fn stream(&self) -> Sse<impl Stream<Item = Result<Event, Infallible>> + use<>> {
        let (kept, coming) = self.listen();
        let coming = BroadcastStream::new(coming).map(|line| match line {
            Ok(line) => Event::default().data(&*line),
            Err(BroadcastStreamRecvError::Lagged(count)) => {
                Event::default().event("missed").data(count.to_string())
            }
        });
        let kept = iter(kept).map(|line| Event::default().data(&*line));
        Sse::new(kept.chain(coming).map(Ok)).keep_alive(KeepAlive::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_later_gets_the_last_events_and_then_each_once() {
        let feed = EventFeed::default();
        for number in 0..KEPT + 5 {
            feed.tell(&number.to_string());
        }
        let (kept, mut coming) = feed.listen();
        assert_eq!((kept.len(), &*kept[0]), (KEPT, "5"));
        feed.tell("next");
        assert_eq!(coming.try_recv().as_deref(), Ok("next"));
        assert!(coming.try_recv().is_err());
    }
}
