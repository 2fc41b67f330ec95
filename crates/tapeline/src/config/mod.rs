//! The configuration: one file, what it may say, and what flags change.
//!
//! Every key is defined once, in [`sections`]; reading, writing and explaining
//! follow from there.

mod classic;
mod fault;
mod precedence;
mod read;
mod reference;
mod rights;
mod section;
mod sections;
mod show;
mod value;

#[cfg(test)]
mod tests;

use std::fs;
use std::path::Path;

pub(crate) use fault::{Fault, nearest};
pub(crate) use reference::reference;
pub(crate) use rights::{Authoriser, Entitle, Token, TokenRenewal};
use section::Section;
pub(crate) use sections::{
    Admin, Backbone, CompressionKind, Driver, Hub, IdleWhen, Level, Log, LogFormat, Profile,
    ProfileName, Server, Source, Unpublished,
};
pub(crate) use show::show;
pub(crate) use value::Port;

use crate::failure::Failure;

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
    pub(crate) entitle: Entitle,
    pub(crate) token: Token,
    pub(crate) authoriser: Authoriser,
    /// Lines of an `rmds.cnf` that change nothing, with why.
    pub(crate) remarks: Vec<Fault>,
}

impl Settings {
    /// Reads a file; without one, all is as in the reference.
    pub(crate) fn load(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else {
            return Ok(Self::default());
        };
        let text = fs::read_to_string(path).map_err(Failure::read(path))?;
        Self::parse(path, &text).map_err(Failure::Config)
    }

    /// Reads the text of a file: TOML, or what `rmds.cnf` holds if its name
    /// does not end in `.toml`.
    fn parse(path: &Path, text: &str) -> Result<Self, Vec<Fault>> {
        let mut settings = Self::default();
        if path.extension().is_some_and(|extension| extension == "toml") {
            read::read(&mut settings, path, text)?;
        } else {
            settings.remarks = classic::read(&mut settings, path, text, &host_name())?;
        }
        Ok(settings)
    }

    /// The sections that are there once.
    fn sections(&self) -> [&dyn Section; 9] {
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

    /// The section of a name.
    fn section(&mut self, name: &str) -> Option<&mut dyn Section> {
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
            ProfileName::Throughput => {
                self.server.flush_interval_ms = THROUGHPUT_FLUSH_MS;
                self.server.tcp_no_delay = false;
            }
        }
    }
}

/// The name of this host, as the kernel has it; empty if it tells none.
fn host_name() -> String {
    let name = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}
