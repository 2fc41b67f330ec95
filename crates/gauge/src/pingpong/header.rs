//! The lines in front of the rows.

use std::fs;
use std::time::SystemTime;

use tapeline_measure::environment::Environment;
use time::UtcDateTime;

/// What the header tells of the host and the run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Header {
    pub(crate) command_line: String,
    pub(crate) version: String,
    pub(crate) source: String,
    pub(crate) date: String,
    pub(crate) uname: String,
    pub(crate) cpu: Option<String>,
    /// Devices and interfaces, a line each.
    pub(crate) devices: Vec<String>,
    pub(crate) memory: Option<String>,
    pub(crate) tsc_hz: u64,
    /// `LD_PRELOAD`, `EF_*`, `VMA_*`, `XLIO_*`.
    pub(crate) variables: Vec<String>,
    pub(crate) server_variables: Vec<String>,
    pub(crate) percentile: f64,
    pub(crate) is_whole: bool,
    /// Lines of the tool's own, between those of the host and the last.
    pub(crate) own: Vec<String>,
    pub(crate) tapeline: String,
}

impl Header {
    /// This host now. Its name is told only if asked for.
    pub(crate) fn of_host(environment: &Environment, tells_name: bool) -> Self {
        let node = match tells_name {
            true => fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default(),
            false => "-".to_owned(),
        };
        let kernel = environment.kernel.clone().unwrap_or_default();
        let command_line = environment.command_line.join(" ");
        Self {
            command_line,
            version: environment.version.clone(),
            source: environment.git_commit.clone().unwrap_or_else(|| "-".to_owned()),
            date: now(),
            uname: format!("Linux {} {kernel} {}", node.trim(), std::env::consts::ARCH),
            cpu: environment.cpu.model.clone(),
            devices: devices(environment),
            memory: environment.memory_kib.map(|kib| format!("{kib} kB")),
            variables: variables(),
            ..Self::default()
        }
    }

    /// All lines, the head of the columns included.
    pub(crate) fn text(&self) -> String {
        format!("{}#\tsize\tmean\tmin\tmedian\tmax\t%ile\tstddev\titer\n", self.lines())
    }

    /// All lines but the head of the columns.
    pub(crate) fn lines(&self) -> String {
        let mut text = String::new();
        let mut line = |content: &str| {
            text.push_str("# ");
            text.push_str(content);
            text.push('\n');
        };
        line(&format!("cmdline: {}", self.command_line));
        line(&format!("version: {}", self.version));
        line(&format!("src: {}", self.source));
        line(&format!("date: {}", self.date));
        line(&format!("uname: {}", self.uname));
        if let Some(model) = &self.cpu {
            line(&format!("cpu: model name       : {model}"));
        }
        self.devices.iter().for_each(|device| line(device));
        if let Some(memory) = &self.memory {
            line(&format!("ram: MemTotal:       {memory}"));
        }
        line(&format!("tsc_hz: {}", self.tsc_hz));
        self.variables.iter().for_each(|variable| line(variable));
        self.server_variables.iter().for_each(|variable| line(&format!("server {variable}")));
        line(&format!("percentile={}", self.percentile));
        line(if self.is_whole { "reporting: RTT" } else { "reporting: 1/2 RTT" });
        self.own.iter().for_each(|own| line(own));
        line(&format!("tapeline: {}", self.tapeline));
        text.push_str("#\n");
        text
    }
}

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn now() -> String {
    let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let now = UtcDateTime::from_unix_timestamp(since_epoch.as_secs() as i64);
    now.map_or("-".to_owned(), date)
}

/// `Sun 22 Nov 19:00:00 UTC 2026`
fn date(now: UtcDateTime) -> String {
    let day = DAYS[usize::from(now.weekday().number_days_from_monday())];
    let month = MONTHS[usize::from(u8::from(now.month())) - 1];
    let (hour, minute, second) = now.as_hms();
    let (of_month, year) = (now.day(), now.year());
    format!("{day} {of_month} {month} {hour:02}:{minute:02}:{second:02} UTC {year}")
}

/// Drivers of interfaces, and where they are on the bus.
fn devices(environment: &Environment) -> Vec<String> {
    let mut lines = Vec::new();
    for interface in &environment.interfaces {
        if let Some(driver) = &interface.driver {
            lines.push(format!("{}: driver: {driver}", interface.name));
        }
        if let Some(pci) = &interface.pci {
            lines.push(format!("{}: bus-info: {pci}", interface.name));
        }
    }
    lines
}

/// What stacks that take sockets over are told by.
fn variables() -> Vec<String> {
    let is_of_stack = |name: &str| {
        name == "LD_PRELOAD" || ["EF_", "VMA_", "XLIO_"].iter().any(|of| name.starts_with(of))
    };
    let mut all: Vec<String> = std::env::vars()
        .filter(|(name, value)| is_of_stack(name) && !value.is_empty())
        .map(|(name, value)| match name.as_str() {
            // Folders are nobody's business.
            "LD_PRELOAD" => format!("LD_PRELOAD={}", libraries(&value)),
            _ => format!("{name}={value}"),
        })
        .collect();
    all.sort_by_key(|variable| !variable.starts_with("LD_PRELOAD"));
    all
}

fn libraries(value: &str) -> String {
    let names = value.split([':', ' ']).filter(|path| !path.is_empty());
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    names.map(last).collect::<Vec<_>>().join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_their_lines_in_their_order() {
        let header = Header {
            command_line: "tapeline pingpong --affinity 0;1 tcp 10.0.0.2".to_owned(),
            version: "0.1.0".to_owned(),
            source: "d17d2ff".to_owned(),
            date: date(UtcDateTime::from_unix_timestamp(1_795_374_000).unwrap()),
            uname: "Linux - 6.18.44 #1 SMP PREEMPT_DYNAMIC x86_64".to_owned(),
            cpu: Some("Intel(R) Xeon(R) Processor".to_owned()),
            devices: vec!["eth0: driver: virtio_net".to_owned()],
            memory: Some("24684096 kB".to_owned()),
            tsc_hz: 2_100_000_000,
            variables: vec!["LD_PRELOAD=libonload.so".to_owned(), "EF_POLL_USEC=1".to_owned()],
            server_variables: vec!["LD_PRELOAD=libonload.so".to_owned()],
            percentile: 99.0,
            is_whole: false,
            own: Vec::new(),
            tapeline: "transport=tcp spin=1;1 muxer=none clock=tsc overhead=19ns".to_owned(),
        };
        let expected = "\
# cmdline: tapeline pingpong --affinity 0;1 tcp 10.0.0.2
# version: 0.1.0
# src: d17d2ff
# date: Sun 22 Nov 19:00:00 UTC 2026
# uname: Linux - 6.18.44 #1 SMP PREEMPT_DYNAMIC x86_64
# cpu: model name       : Intel(R) Xeon(R) Processor
# eth0: driver: virtio_net
# ram: MemTotal:       24684096 kB
# tsc_hz: 2100000000
# LD_PRELOAD=libonload.so
# EF_POLL_USEC=1
# server LD_PRELOAD=libonload.so
# percentile=99
# reporting: 1/2 RTT
# tapeline: transport=tcp spin=1;1 muxer=none clock=tsc overhead=19ns
#
#\tsize\tmean\tmin\tmedian\tmax\t%ile\tstddev\titer
";
        assert_eq!(header.text(), expected);
    }

    #[test]
    fn libraries_have_no_folder() {
        assert_eq!(libraries("/opt/x/libonload.so:libvma.so"), "libonload.so:libvma.so");
    }
}
