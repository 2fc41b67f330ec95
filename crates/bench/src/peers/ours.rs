//! Tapeline: a provider, `tapeline run` (hub and server in one process), and
//! consumers.

use std::fs;
use std::path::Path;

use super::error::PeerError;
use super::mounts::Mounts;
use super::options::Setting;
use super::tally::Tally;
use super::way::Way;
use super::workload::Workload;
use crate::source::Source;
use crate::stamp::Stamp;
use crate::subject::Program;
use crate::update::Update;

/// Publisher, hub and server, clients.
pub(super) struct Ours {
    mounts: Mounts,
    source: Source,
    update: Update,
    workload: Workload,
    program: Program,
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
    let settings = folder.join("tapeline.toml");
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
    fs::write(&settings, text).map_err(PeerError::socket("write the settings of tapeline"))?;
    let mut arguments = vec!["run".to_owned(), "--config".to_owned()];
    arguments.extend([settings.display().to_string(), "--source".to_owned(), address.to_string()]);
    arguments.extend(["--rssl-port", "0", "--ni-port", "off"].map(str::to_owned));
    let program = Program::start(program, folder, "run", &arguments, cores)?;
    let server = program.address("rssl")?;
    let mounts = Mounts::open(server, &workload, tally, || {
        source.poll();
    })?;
    Ok(Ours { mounts, source, update: Update::new(), workload, program })
}

impl Way for Ours {
    fn poll(&mut self, tally: &mut Tally) -> Result<usize, PeerError> {
        self.mounts.poll(tally)
    }

    #[inline]
    fn send(&mut self, stamp: Stamp) -> Result<(), PeerError> {
        let item = self.workload.item_of(stamp.number);
        self.source.send(item, stamp.write_rssl(&mut self.update));
        Ok(())
    }

    fn flush(&mut self) -> Result<(), PeerError> {
        self.source.flush();
        Ok(())
    }

    fn is_behind(&self) -> bool {
        self.source.is_slow()
    }

    fn server_seconds(&self) -> Option<f64> {
        self.program.seconds()
    }

    fn tidy(&mut self) -> Result<(), PeerError> {
        self.source.poll();
        match self.source.trouble() {
            Some(error) => Err(PeerError::Source(error.to_string())),
            None => Ok(()),
        }
    }
}
