//! The machine, for the record.

use std::fs;

use serde_json::{Value, json};

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn after_colon(text: &str, key: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_once(':').map(|(_, value)| value.trim().to_owned())
}

/// What a figure depends on beside the code.
pub(crate) fn record() -> Value {
    let cpuinfo = read("/proc/cpuinfo").unwrap_or_default();
    let meminfo = read("/proc/meminfo").unwrap_or_default();
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    json!({
        "bench": "environment",
        "version": env!("CARGO_PKG_VERSION"),
        "command": std::env::args().collect::<Vec<_>>().join(" "),
        "kernel": read("/proc/sys/kernel/osrelease"),
        "cpu": after_colon(&cpuinfo, "model name"),
        "microcode": after_colon(&cpuinfo, "microcode"),
        "is_virtual": cpuinfo.contains(" hypervisor"),
        "cores": cores,
        "memory": after_colon(&meminfo, "MemTotal"),
        "clock_source": read("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "load_average": read("/proc/loadavg"),
        "stolen_ticks": stolen_ticks(),
        "preload": std::env::var("LD_PRELOAD").ok(),
        "rmem_max": read("/proc/sys/net/core/rmem_max"),
        "wmem_max": read("/proc/sys/net/core/wmem_max"),
        "tcp_rmem": read("/proc/sys/net/ipv4/tcp_rmem"),
        "tcp_wmem": read("/proc/sys/net/ipv4/tcp_wmem"),
    })
}

/// Ticks that the host gave to others, of all cores since boot.
fn stolen_ticks() -> Option<u64> {
    let stat = read("/proc/stat")?;
    stat.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_record_names_the_machine() {
        let record = record();
        assert!(record["cores"].as_u64().is_some_and(|cores| cores > 0), "{record}");
        assert_eq!(record["version"], env!("CARGO_PKG_VERSION"));
    }
}
