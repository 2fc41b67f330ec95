//! File descriptors: as many as the system allows, and some of them kept for
//! what the process opens itself.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::config::Settings;

/// No more are asked for, however many the system allows.
const MOST: u64 = 1 << 20;

/// Kept for files, name lookups and sockets of the backbone.
const RESERVE: u64 = 32;

/// Kept for each source: its connection, and the next one to it.
const RESERVE_PER_SOURCE: u64 = 2;

/// What hub and server have open before anybody connects.
const OWN: u64 = 64;

/// Raises the limit of this process to what the system allows; how many
/// descriptors there may be then.
pub(crate) fn raise() -> u64 {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (current, wanted) = (current.unwrap_or(MOST), maximum.unwrap_or(MOST).min(MOST));
    if current >= wanted {
        return current;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => wanted,
        Err(error) => {
            tracing::warn!(%error, current, wanted, "the limit of open files cannot be raised");
            current
        }
    }
}

/// Connections that are accepted have descriptors below this number, if there
/// may be `limit`: the others are for sources.
pub(crate) fn max_accepted(settings: &Settings, limit: u64) -> u32 {
    let below = limit.saturating_sub(reserve(settings)).max(1);
    u32::try_from(below).unwrap_or(u32::MAX)
}

/// Says so if `limit` is too low for the mounts that there may be.
pub(crate) fn check(settings: &Settings, limit: u64) {
    let needed = needed(settings);
    if limit < needed {
        tracing::warn!(
            limit,
            needed,
            "the limit of open files is below what max-mounts needs; raise it \
             (ulimit -n, LimitNOFILE=)"
        );
    }
}

fn reserve(settings: &Settings) -> u64 {
    let hosts: usize = settings.sources.iter().map(|source| source.hosts.len().max(1)).sum();
    RESERVE + RESERVE_PER_SOURCE * hosts as u64
}

fn needed(settings: &Settings) -> u64 {
    OWN + reserve(settings) + (settings.server.max_mounts + settings.hub.max_providers) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Source;

    #[test]
    fn each_source_has_a_reserve() {
        let mut settings = Settings::default();
        assert_eq!(max_accepted(&settings, 1024), 992);
        let hosts = vec!["a".to_owned(), "b".to_owned()];
        settings.sources = vec![Source { hosts, ..Source::default() }];
        assert_eq!(max_accepted(&settings, 1024), 988);
        assert_eq!(max_accepted(&settings, 10), 1);
        assert_eq!(max_accepted(&settings, u64::MAX), u32::MAX);
    }

    #[test]
    fn what_is_needed_follows_the_mounts() {
        let mut settings = Settings::default();
        let few = needed(&settings);
        settings.server.max_mounts += 1_000;
        assert_eq!(needed(&settings), few + 1_000);
    }

    #[test]
    fn the_limit_is_raised_as_far_as_the_system_lets_it() {
        let limit = raise();
        assert_eq!(getrlimit(Resource::Nofile).current.unwrap_or(MOST), limit);
        let maximum = getrlimit(Resource::Nofile).maximum.unwrap_or(MOST);
        assert!(limit >= maximum.min(MOST));
    }
}
