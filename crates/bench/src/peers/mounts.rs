//! RSSL clients: consumers that open their items as any consumer does, and
//! then read updates with no more than what the comparison needs.

use std::net::SocketAddr;
use std::time::Instant;

use tapeline_api::{ConsumerEvent, ConsumerHandler, Requests};
use tapeline_measure::stop;

use super::error::PeerError;
use super::process::PATIENCE;
use super::tally::Tally;
use super::workload::Workload;
use crate::consumers::{Consumers, Reader};
use crate::source::{SERVICE, item_name};
use crate::stamp::Stamp;

/// The clients of one server or provider.
pub(super) struct Mounts {
    consumers: Consumers,
    progress: Progress,
    wanted: usize,
}

/// What is not an update of the comparison.
#[derive(Default)]
struct Progress {
    images: usize,
    trouble: Option<String>,
}

/// Hands updates to the tally.
struct Ear<'t> {
    tally: &'t mut Tally,
    progress: &'t mut Progress,
}

impl Reader for Ear<'_> {
    #[inline]
    fn takes(&mut self, client: usize, message: &[u8]) -> bool {
        let stamp = Stamp::read_rssl(message);
        if stamp.is_some() {
            self.tally.update(client, stamp);
        }
        stamp.is_some()
    }
}

impl ConsumerHandler for Ear<'_> {
    fn event(&mut self, event: ConsumerEvent<'_>, _: &mut Requests<'_>) {
        match event {
            ConsumerEvent::Refresh { .. } => self.progress.images += 1,
            ConsumerEvent::Down { reason, .. } => self.progress.trouble = Some(reason.to_owned()),
            ConsumerEvent::Update { msg, .. } => {
                let what = format!("an update is not as it was published: {msg:?}");
                self.progress.trouble = Some(what);
            }
            _ => {}
        }
    }
}

impl Mounts {
    /// Clients that have all of their images. `meanwhile` is done while they
    /// wait.
    pub(super) fn open(
        address: SocketAddr,
        workload: &Workload,
        tally: &mut Tally,
        mut meanwhile: impl FnMut(),
    ) -> Result<Self, PeerError> {
        let consumers = Consumers::of(&[address])?;
        let mut mounts = Self { consumers, progress: Progress::default(), wanted: 0 };
        for client in 0..workload.clients {
            mounts.consumers.add(SERVICE, workload.watchlist(client).map(item_name))?;
            mounts.wanted += workload.watchlist(client).count();
        }
        let began = Instant::now();
        while !mounts.is_ready() {
            stop::check()?;
            mounts.poll(tally)?;
            meanwhile();
            if began.elapsed() > PATIENCE {
                let (images, wanted) = (mounts.progress.images, mounts.wanted);
                let what = format!("{images} of {wanted} images came in time");
                return Err(PeerError::Protocol { protocol: "rssl", what });
            }
        }
        Ok(mounts)
    }

    fn is_ready(&self) -> bool {
        self.progress.images >= self.wanted
    }

    /// Reads and writes what there is.
    pub(super) fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        let is_waiting = !self.is_ready();
        let mut ear = Ear { tally, progress: &mut self.progress };
        let work = self.consumers.poll(is_waiting, &mut ear);
        match self.progress.trouble.take() {
            Some(what) => Err(PeerError::Protocol { protocol: "rssl", what }),
            None => Ok(work),
        }
    }
}
