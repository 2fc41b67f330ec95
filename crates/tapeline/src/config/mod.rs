//! The configuration: one file, what it may say, and what flags change.
//!
//! Every key is defined once, in [`sections`] and its neighbours; reading, writing and explaining
//! follow from there.

mod classic;
mod fault;
mod import;
mod plan;
mod precedence;
mod read;
mod reference;
mod rights;
mod section;
mod sections;
mod server;
mod services;
mod show;
mod tables;
mod value;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

pub(crate) use classic::Remarks;
use classic::Site;
pub(crate) use fault::{Fault, nearest};
pub(crate) use import::import;
pub(crate) use plan::{Difference, differences, lines};
pub(crate) use reference::reference;
pub(crate) use rights::{Authoriser, Entitle, Token, TokenRenewal};
pub(crate) use section::{Class, Section};
pub(crate) use sections::{
    Admin, Backbone, CompressionKind, Driver, Hub, IdleWhen, Level, Log, LogFormat, Profile,
    ProfileName, Source, Unpublished,
};
pub(crate) use server::Server;
pub(crate) use services::{
    CacheOf, Failback, Mirror, MirrorClose, MirrorSeq, Pick, ProviderKind, Rebalance, Service,
    StandbyAnswer, StandbyPost, WarmStandbyKind,
};
pub(crate) use show::show;
pub(crate) use tables::{PortTransport, ServerPort, ServerUser};
pub(crate) use value::Port;

use crate::failure::Failure;

/// The instance of the classic programs that a process stands for, if it is not told.
pub(crate) const INSTANCE: &str = "1";

/// Bytes of one output buffer of the classic server.
const BUFFER_BYTES: usize = 6_144;

/// Of the published tests of RMDS 6: `tcpSendBufSize`, and `udpRecvBufSize` in bytes.
const RMDS_SEND_BUFFER_BYTES: u32 = 64_240;
const RMDS_SOCKET_BUFFER_BYTES: u32 = 4 << 20;

/// How long output is gathered in the throughput profile.
const THROUGHPUT_FLUSH_MS: u32 = 20;

/// Everything that can be configured.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Settings {
    pub(crate) profile: Profile,
    pub(crate) log: Log,
    pub(crate) admin: Admin,
    pub(crate) backbone: Backbone,
    pub(crate) hub: Hub,
    pub(crate) sources: Vec<Source>,
    pub(crate) server: Server,
    pub(crate) ports: Vec<ServerPort>,
    pub(crate) users: Vec<ServerUser>,
    pub(crate) services: Vec<Service>,
    pub(crate) entitle: Entitle,
    pub(crate) token: Token,
    pub(crate) authoriser: Authoriser,
    /// What an `rmds.cnf` says beside them.
    pub(crate) remarks: Remarks,
}

impl Settings {
    /// Reads a file; without one, all is as in the reference. `instance` is which of
    /// the classic programs of a host an `rmds.cnf` is read for.
    pub(crate) fn load(path: Option<&Path>, instance: &str) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text = fs::read_to_string(path).map_err(Failure::read(path))?;
        Self::parse(path, &text, instance).map_err(Failure::Config)
    }

    /// Reads the text of a file: TOML, or what `rmds.cnf` holds if its name
    /// does not end in `.toml`, for this instance of the classic programs.
    pub(crate) fn parse(path: &Path, text: &str, instance: &str) -> Result<Self, Vec<Fault>> {
        let mut settings = Self::default();
        if path.extension().is_some_and(|extension| extension == "toml") {
            read::read(&mut settings, path, text)?;
        } else {
            let site = Site { host: &host_name(), instance };
            settings.remarks = classic::read(&mut settings, path, text, site)?;
        }
        Ok(settings)
    }

    /// The sections that are there once.
    pub(crate) fn sections(&self) -> [&dyn Section; 9] {
        [
            &self.profile,
            &self.log,
            &self.admin,
            &self.backbone,
            &self.hub,
            &self.server,
            &self.entitle,
            &self.token,
            &self.authoriser,
        ]
    }

    /// The tables below a section, of which there are any number.
    pub(crate) fn tables(&self, section: &str) -> Vec<&dyn Section> {
        match section {
            "hub" => self.sources.iter().map(|it| it as &dyn Section).collect(),
            "server" => {
                let ports = self.ports.iter().map(|it| it as &dyn Section);
                let users = self.users.iter().map(|it| it as &dyn Section);
                let services = self.services.iter().map(|it| it as &dyn Section);
                ports.chain(users).chain(services).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The section of a name.
    pub(crate) fn section(&mut self, name: &str) -> Option<&mut dyn Section> {
        let sections: [&mut dyn Section; 9] = [
            &mut self.profile,
            &mut self.log,
            &mut self.admin,
            &mut self.backbone,
            &mut self.hub,
            &mut self.server,
            &mut self.entitle,
            &mut self.token,
            &mut self.authoriser,
        ];
        sections.into_iter().find(|section| section.name() == name)
    }

    fn section_names() -> [&'static str; 9] {
        Self::default().sections().map(Section::name)
    }

    /// Sets what the profile decides.
    pub(crate) fn apply_profile(&mut self) {
        match self.profile.name {
            ProfileName::Latency => {}
            ProfileName::Throughput => self.gather(),
            ProfileName::RmdsThroughput => {
                self.gather();
                self.backbone.flush_interval_ms = THROUGHPUT_FLUSH_MS;
                self.buffers(800, 5_000, 32_000);
                self.sources_keep();
            }
            ProfileName::RmdsLatency => {
                self.server.tcp_send_buffer_bytes = Some(RMDS_SEND_BUFFER_BYTES);
                self.buffers(200, 400, 16_000);
                self.sources_keep();
            }
            ProfileName::RmdsLatency1600 => {
                self.server.tcp_send_buffer_bytes = Some(RMDS_SEND_BUFFER_BYTES);
                self.buffers(1_600, 1_600, 2_000);
            }
        }
    }

    /// What both published tests with the same sources have in common.
    fn sources_keep(&mut self) {
        self.server.cache = false;
        self.hub.cache = false;
        self.backbone.socket_buffer_bytes = RMDS_SOCKET_BUFFER_BYTES;
    }

    /// Output is gathered.
    fn gather(&mut self) {
        self.server.flush_interval_ms = THROUGHPUT_FLUSH_MS;
        self.server.tcp_no_delay = false;
    }

    /// Output as the classic programs count it: what each mount has for itself and at
    /// most, and what all share.
    fn buffers(&mut self, guaranteed: usize, most: usize, pool: usize) {
        let server = &mut self.server;
        server.output_max_bytes = most * BUFFER_BYTES;
        server.output_pool_bytes = (pool + guaranteed * server.max_mounts) * BUFFER_BYTES;
    }
}

/// The name of this host, as the kernel has it; empty if it tells none.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
