//! Flags of the commands that run hubs and servers. Each stands for a key of
//! the configuration and wins over the file.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tapeline_admin::EventFeed;

use crate::config::{Driver, LogFormat, Port, Settings, Source};
use crate::failure::Failure;
use crate::log::Levels;

/// Flags of every command that runs something.
#[derive(Clone, clap::Args)]
pub(crate) struct Common {
    /// The configuration file; without it, every key has its default
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Which of the classic programs of a host an `rmds.cnf` is read for
    #[arg(long, value_name = "N", default_value = crate::config::INSTANCE)]
    pub(crate) instance: String,

    /// Where hubs and servers meet, as `local` or `aeron:ipc` (backbone.channel)
    #[arg(long, value_name = "CHANNEL")]
    backbone: Option<String>,

    /// Where the media driver runs: `embedded` or `external` (backbone.driver)
    #[arg(long, value_name = "WHERE")]
    backbone_driver: Option<Driver>,

    /// The folder of the media driver (backbone.dir)
    #[arg(long, value_name = "FOLDER")]
    backbone_dir: Option<PathBuf>,

    /// What to log: `debug`, `hub=debug,server=warn`
    #[arg(long, value_name = "LEVELS")]
    log: Option<String>,

    /// How lines of the log look: `logfmt` or `json` (log.format)
    #[arg(long, value_name = "FORMAT")]
    log_format: Option<LogFormat>,

    /// Where metrics, views and a page for operators are, on 127.0.0.1; 0 for any port
    /// (admin.port)
    #[arg(long, value_name = "PORT")]
    admin_port: Option<Port>,

    /// How often to log what hub and server count, in seconds; 0 for at the end alone
    /// (log.counters-interval-s)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=86_400))]
    counters_interval_s: Option<u32>,

    /// Who may log in and see what; without it, everybody everything (entitle.policy)
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,

    /// The folder of the usage journal (entitle.usage-dir)
    #[arg(long, value_name = "FOLDER", requires = "policy")]
    usage_dir: Option<PathBuf>,

    /// Write what listens where into this file once everything does
    #[arg(long, value_name = "FILE")]
    pub(crate) ready_file: Option<PathBuf>,

    /// End after this many seconds; without it, on SIGTERM or SIGINT
    #[arg(long, value_name = "N")]
    pub(crate) seconds: Option<u64>,

    /// Where lines of the log go for who listens at the admin port
    #[arg(skip)]
    events: OnceLock<EventFeed>,
}

/// Flags of a hub.
#[derive(Clone, clap::Args)]
pub(crate) struct HubFlags {
    /// An interactive provider to connect to; repeatable, replaces those of the file
    #[arg(long, value_name = "HOST:PORT")]
    source: Vec<String>,

    /// Where non-interactive providers connect; 0 for any port, or `off` (hub.ni-port)
    #[arg(long, value_name = "PORT")]
    ni_port: Option<Port>,
}

/// Flags of a server.
#[derive(Clone, clap::Args)]
pub(crate) struct ServerFlags {
    /// Where consumers connect; 0 for any port (server.rssl-port)
    #[arg(long, value_name = "PORT")]
    rssl_port: Option<Port>,

    /// Where WebSocket consumers connect; 0 for any port, or `off` (server.ws-port)
    #[arg(long, value_name = "PORT")]
    ws_port: Option<Port>,

    /// Whether browsers get a page at a WebSocket port: `true` or `false` (server.ws-page)
    #[arg(long, value_name = "BOOL")]
    ws_page: Option<bool>,

    /// A page of another host that may mount over WebSocket, as `https://desk.example.com`;
    /// repeatable (server.allowed-origins)
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,

    /// Where RSSL consumers connect over TLS (server.rssl-tls-port)
    #[arg(long, value_name = "PORT")]
    rssl_tls_port: Option<Port>,

    /// Where WebSocket consumers connect over TLS (server.wss-port)
    #[arg(long, value_name = "PORT")]
    wss_port: Option<Port>,

    /// The certificate for TLS, as PEM (server.tls-certificate)
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_certificate: Option<PathBuf>,

    /// The private key of the certificate, as PEM (server.tls-key)
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    tls_key: Option<PathBuf>,

    /// The field dictionary for consumers (server.dictionary)
    #[arg(long, value_name = "FILE", requires = "enums")]
    dictionary: Option<PathBuf>,

    /// The enumeration tables for consumers (server.enums)
    #[arg(long, value_name = "FILE", requires = "dictionary")]
    enums: Option<PathBuf>,
}

impl Common {
    /// Where lines of the log go for who listens at the admin port.
    pub(crate) fn events(&self) -> EventFeed {
        self.events.get().cloned().unwrap_or_default()
    }

    /// The configuration file.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.config.as_deref()
    }

    /// The settings of the file with these flags; starts the log.
    pub(crate) fn settings(&self) -> Result<(Settings, Levels), Failure> {
        let mut settings = Settings::load(self.file(), &self.instance)?;
        for remark in &settings.remarks.nothing {
            crate::failure::warn(&remark.to_string());
        }
        self.apply(&mut settings);
        self.events.get_or_init(EventFeed::default);
        let levels = crate::log::start(&settings.log, self.log.as_deref(), self.events.get())?;
        Ok((settings, levels))
    }

    /// Changes what the flags say.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        if let Some(channel) = &self.backbone {
            settings.backbone.channel = Some(channel.clone());
        }
        if let Some(driver) = self.backbone_driver {
            settings.backbone.driver = driver;
        }
        if let Some(folder) = &self.backbone_dir {
            settings.backbone.dir = Some(folder.clone());
        }
        if let Some(interval_s) = self.counters_interval_s {
            settings.log.counters_interval_s = interval_s;
        }
        if let Some(path) = &self.policy {
            settings.entitle.policy = Some(path.clone());
        }
        if let Some(folder) = &self.usage_dir {
            settings.entitle.usage_dir = Some(folder.clone());
        }
        if let Some(port) = self.admin_port {
            settings.admin.port = port;
        }
        if let Some(format) = self.log_format {
            settings.log.format = format;
        }
    }
}

impl HubFlags {
    /// Changes what the flags say.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        if !self.source.is_empty() {
            let source = |host: &String| Source { hosts: vec![host.clone()], ..Source::default() };
            settings.sources = self.source.iter().map(source).collect();
        }
        if let Some(port) = self.ni_port {
            settings.hub.ni_port = port;
        }
    }
}

impl ServerFlags {
    /// Changes what the flags say.
    pub(crate) fn apply(&self, settings: &mut Settings) {
        if let Some(port) = self.rssl_port {
            settings.server.rssl_port = port;
        }
        if let Some(port) = self.ws_port {
            settings.server.ws_port = port;
        }
        if !self.allow_origin.is_empty() {
            settings.server.allowed_origins.clone_from(&self.allow_origin);
        }
        if let Some(has_page) = self.ws_page {
            settings.server.ws_page = has_page;
        }
        if let Some(port) = self.rssl_tls_port {
            settings.server.rssl_tls_port = port;
        }
        if let Some(port) = self.wss_port {
            settings.server.wss_port = port;
        }
        if let Some(path) = &self.tls_certificate {
            settings.server.tls_certificate = Some(path.clone());
        }
        if let Some(path) = &self.tls_key {
            settings.server.tls_key = Some(path.clone());
        }
        if let Some(path) = &self.dictionary {
            settings.server.dictionary = Some(path.clone());
        }
        if let Some(path) = &self.enums {
            settings.server.enums = Some(path.clone());
        }
    }
}
