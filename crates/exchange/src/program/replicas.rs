//! The configuration of replicas.

use std::net::SocketAddr;
use std::time::Duration;

use serde::Deserialize;
use tapeline_exchange::{ExchangeError, ReplicaSettings};
use tapeline_sequence::{CommitMode, ReplicaConfig};
use toml::Spanned;

/// More are slower and no safer.
const MAX_REPLICAS: usize = 9;

/// The replicas: processes that keep the same market, of which one leads.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub(crate) struct ReplicaSection {
    /// Where each listens to the others, in the same order for all of them; with none,
    /// the exchange is alone.
    pub(crate) members: Spanned<Vec<SocketAddr>>,
    pub(crate) commit: CommitName,
    pub(crate) heartbeat_ms: u64,
    /// A leader that is not heard for so long, and up to twice as long, is replaced.
    pub(crate) election_ms: Spanned<u64>,
}

/// When an order is committed among replicas.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum CommitName {
    /// A majority has it in memory.
    Memory,
    /// A majority has it on the disk.
    Disk,
}

impl Default for ReplicaSection {
    fn default() -> Self {
        let replica = ReplicaConfig::default();
        Self {
            members: Spanned::new(0..0, Vec::new()),
            commit: CommitName::Memory,
            heartbeat_ms: replica.heartbeat.as_millis() as u64,
            election_ms: Spanned::new(0..0, replica.election.as_millis() as u64),
        }
    }
}

impl ReplicaSection {
    /// What is wrong with it, and where in the file, in bytes from its start.
    pub(super) fn fault(&self) -> Option<(usize, String)> {
        let Self { members, heartbeat_ms, election_ms, .. } = self;
        let many = members.get_ref().len();
        if many > MAX_REPLICAS {
            let what = format!("[replicas] has {many} members; give at most {MAX_REPLICAS}");
            return Some((members.span().start, what));
        }
        let election = *election_ms.get_ref();
        (*heartbeat_ms == 0 || election < 2 * heartbeat_ms).then(|| {
            let what = format!(
                "[replicas] has election-ms = {election} and heartbeat-ms = {heartbeat_ms}; \
                 give at least twice as much for an election as for a heartbeat"
            );
            (election_ms.span().start, what)
        })
    }

    /// This process as one of the replicas, by its number; without one, it is alone.
    pub(super) fn settings(
        &self,
        number: Option<u8>,
    ) -> Result<Option<ReplicaSettings>, ExchangeError> {
        let Self { commit, heartbeat_ms, .. } = self;
        let (members, election_ms) = (self.members.get_ref(), self.election_ms.get_ref());
        let fault = |what: String| Err(ExchangeError::Config(what));
        let Some(number) = number else {
            return match members.is_empty() {
                true => Ok(None),
                false => fault(
                    "[replicas] has members; say which one this is, with --replica N".to_owned(),
                ),
            };
        };
        let many = members.len();
        if many == 0 {
            return fault(format!(
                "--replica {number}: members of [replicas] has no addresses; give one for each"
            ));
        }
        if number == 0 || usize::from(number) > many {
            return fault(format!(
                "--replica {number}: members of [replicas] has {many} addresses; give 1 to {many}"
            ));
        }
        let mode = match (many, commit) {
            (1, _) => CommitMode::Single,
            (_, CommitName::Memory) => CommitMode::Memory,
            (_, CommitName::Disk) => CommitMode::Disk,
        };
        Ok(Some(ReplicaSettings {
            own: number - 1,
            members: members.clone(),
            mode,
            heartbeat: Duration::from_millis(*heartbeat_ms),
            election: Duration::from_millis(*election_ms),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(many: u16, number: Option<u8>, election_ms: u64) -> Result<String, String> {
        let at = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let members = (1..=many).map(at).collect();
        let (members, election_ms) = (Spanned::new(0..0, members), Spanned::new(0..0, election_ms));
        let section = ReplicaSection { members, election_ms, ..ReplicaSection::default() };
        if let Some((_, what)) = section.fault() {
            return Err(what);
        }
        let settings = section.settings(number).map_err(|error| error.to_string())?;
        Ok(settings.map_or("alone".to_owned(), |it| format!("{} {:?}", it.own, it.mode)))
    }

    #[test]
    fn a_process_is_one_of_the_members_or_alone() {
        assert_eq!(settings(0, None, 500).as_deref(), Ok("alone"));
        assert_eq!(settings(1, Some(1), 500).as_deref(), Ok("0 Single"));
        assert_eq!(settings(3, Some(3), 500).as_deref(), Ok("2 Memory"));
        for (many, number, election_ms, wanted) in [
            (3, None, 500, "say which one this is, with --replica N"),
            (3, Some(4), 500, "has 3 addresses; give 1 to 3"),
            (0, Some(1), 500, "has no addresses"),
            (10, Some(1), 500, "has 10 members; give at most 9"),
            (3, Some(1), 80, "give at least twice as much for an election"),
        ] {
            let refused = settings(many, number, election_ms).expect_err(wanted);
            assert!(refused.contains(wanted), "{refused}");
        }
    }
}
