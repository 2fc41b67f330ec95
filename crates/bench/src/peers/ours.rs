//! Tapeline: a provider, `tapeline run` (hub and server in one process), and
//! consumers.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use tapeline_api::{
    ApiError, Flow, Provider, ProviderConfig, ProviderEvent, ProviderHandler, RefreshHead,
    Responses, ServiceSpec, StreamHandle,
};

use super::error::PeerError;
use super::mounts::{Mounts, SERVICE};
use super::options::Setting;
use super::process::{PATIENCE, Process};
use super::stamp::Stamp;
use super::tally::Tally;
use super::way::Way;
use super::workload::Workload;
use crate::update::{self, Update};

/// Publisher, hub and server, clients.
pub(super) struct Ours {
    mounts: Mounts,
    source: Source,
    workload: Workload,
    process: Process,
}

struct Source {
    provider: Provider,
    book: Book,
    update: Update,
}

#[derive(Debug)]
struct Book {
    streams: Vec<Option<StreamHandle>>,
    is_slow: bool,
    trouble: Option<ApiError>,
}

impl ProviderHandler for Book {
    fn event(&mut self, event: ProviderEvent<'_>, responses: &mut Responses<'_>) {
        match event {
            ProviderEvent::Request { stream, .. } => {
                let name = responses.stream(stream).and_then(|info| info.name.to_str());
                let Some(item) = name.and_then(item_of) else { return };
                let Some(place) = self.streams.get_mut(item) else { return };
                *place = Some(stream);
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

fn item_of(topic: &str) -> Option<usize> {
    topic.strip_prefix('I')?.strip_suffix('.')?.parse().ok()
}

impl Source {
    fn listen(items: usize) -> Result<(Self, SocketAddr), PeerError> {
        let mut provider =
            Provider::new(ProviderConfig::new([ServiceSpec::new(1, SERVICE).entry()]))?;
        let address = provider.listen(SocketAddr::from(([127, 0, 0, 1], 0)))?;
        let book = Book { streams: vec![None; items], is_slow: false, trouble: None };
        Ok((Self { provider, book, update: Update::new() }, address))
    }

    fn poll(&mut self) {
        self.provider.poll(Some(Duration::ZERO), &mut self.book);
    }
}

/// `tapeline run` in a setting.
pub(super) fn start(
    program: &Path,
    folder: &Path,
    setting: Setting,
    tally: &mut Tally,
    workload: Workload,
    cores: Option<&[usize]>,
) -> Result<Ours, PeerError> {
    let (mut source, address) = Source::listen(workload.items)?;
    let failed = PeerError::socket("write the settings of tapeline");
    let (settings, ready) = (folder.join("tapeline.toml"), folder.join("tapeline.ready"));
    let (profile, idle) = match setting {
        Setting::Park => ("latency", "park"),
        Setting::Spin => ("latency", "spin"),
        Setting::Throughput => ("throughput", "park"),
    };
    let text = format!(
        "[profile]\nname = \"{profile}\"\nidle = \"{idle}\"\n\
         [server]\nlisten = \"127.0.0.1\"\nmax-mounts = {}\n",
        workload.clients
    );
    fs::write(&settings, text).map_err(&failed)?;
    let _ = fs::remove_file(&ready);
    let log = fs::File::create(folder.join("tapeline.log")).map_err(&failed)?;
    let mut command = Command::new(program);
    command.arg("run").arg("--config").arg(settings).arg("--ready-file").arg(&ready);
    command.args(["--source", &address.to_string(), "--rssl-port", "0", "--ni-port", "off"]);
    command.stderr(log);
    let mut process = Process::start("tapeline run", &mut command, cores)?;
    let began = Instant::now();
    let server = loop {
        source.poll();
        let text = fs::read_to_string(&ready).unwrap_or_default();
        let found = text.lines().find_map(|line| line.strip_prefix("rssl=")?.parse().ok());
        if let Some(address) = found {
            break address;
        }
        if process.is_over() || began.elapsed() > PATIENCE {
            return Err(process.fault("is not ready; see tapeline.log"));
        }
    };
    let mounts = Mounts::open(server, &workload, tally, || source.poll())?;
    Ok(Ours { mounts, source, workload, process })
}

impl Way for Ours {
    fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        self.mounts.poll(tally)
    }

    #[inline]
    fn send(&mut self, stamp: Stamp) -> Result<(), PeerError> {
        let Source { provider, book, update } = &mut self.source;
        let item = self.workload.item_of(stamp.number);
        let Some(stream) = book.streams[item] else { return Ok(()) };
        let bytes = stamp.write_rssl(update);
        match provider.with(|responses| responses.send(stream, bytes))? {
            Flow::Free => {}
            Flow::Slow => book.is_slow = true,
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.source.provider.flush();
        Ok(())
    }

    fn is_behind(&self) -> bool {
        self.source.book.is_slow
    }

    fn server_seconds(&self) -> Option<f64> {
        Some(self.process.seconds())
    }

    fn tidy(&mut self) -> Result<(), PeerError> {
        self.source.poll();
        match self.source.book.trouble.take() {
            Some(error) => Err(error.into()),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::workload::topic;

    #[test]
    fn items_are_found_by_their_topics() {
        assert_eq!(item_of(&topic(42)), Some(42));
        assert_eq!(item_of("X000042."), None);
        assert_eq!(item_of("I00004x."), None);
    }
}
