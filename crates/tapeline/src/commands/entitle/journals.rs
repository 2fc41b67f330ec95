//! Usage journals, as the subcommands read them.

use std::fs::{self, File};
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use tapeline_entitle::{Journal, Usage};
use tapeline_inspect::capture::utc;
use tapeline_inspect::hex;

use crate::failure::{Failure, warn};

/// The journals of all servers.
pub(super) struct Journals {
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Journals {
    pub(super) fn read(paths: &[PathBuf]) -> Result<Self, Failure> {
        let read = |path: &PathBuf| {
            let is_compressed = path.extension().is_some_and(|extension| extension == "zst");
            let bytes = match is_compressed {
                true => File::open(path).and_then(zstd::decode_all),
                false => fs::read(path),
            };
            Ok::<_, Failure>((path.clone(), bytes.map_err(Failure::read(path))?))
        };
        Ok(Self { files: paths.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// All records in the order of time. What is no whole record is told, and left
    /// out.
    pub(super) fn records(&self) -> Vec<Usage<'_>> {
        let mut records = Vec::new();
        for (path, bytes) in &self.files {
            let (path, mut journal) = (path.display(), Journal::new(bytes));
            records.extend(journal.by_ref());
            let (damaged, torn) = (journal.damaged_bytes(), journal.left_bytes());
            if damaged > 0 {
                warn(&format!("{path}: {damaged} bytes between records are damaged; left out"));
            }
            if torn > 0 {
                let good = journal.good_bytes();
                warn(&format!(
                    "{path}: {torn} bytes behind byte {good} are no whole record; left out"
                ));
            }
        }
        records.sort_by_key(|usage| usage.time_ms);
        records
    }
}

/// A record as an object of JSON: what does not apply is not in it.
pub(super) fn json(usage: &Usage<'_>) -> Value {
    let mut object = Map::new();
    let mut put = |key: &str, value: Value| {
        let says_nothing = match &value {
            Value::String(text) => text.is_empty(),
            Value::Array(list) => list.is_empty(),
            Value::Number(number) => number.as_u64() == Some(0),
            _ => false,
        };
        if !says_nothing {
            object.insert(key.to_owned(), value);
        }
    };
    let lines = |text: &str| text.lines().map(Value::from).collect::<Vec<_>>().into();
    let run = if usage.run == 0 { String::new() } else { format!("{:016x}", usage.run) };
    let time_ns = Duration::from_millis(usage.time_ms).as_nanos();
    put("time", utc(u64::try_from(time_ns).unwrap_or(u64::MAX)).into());
    put("event", usage.kind.name().into());
    put("user", usage.user.into());
    put("position", usage.position.into());
    put("application", usage.application.into());
    put("service", usage.service.into());
    put("item", usage.item.into());
    put("domain", usage.domain.into());
    put("lock", hex(usage.lock).into());
    if let Some(code) = usage.prod_perm {
        put("prod_perm", code.into());
    }
    put("products", lines(usage.products));
    put("roles", lines(usage.roles));
    put("code", usage.code.into());
    put("reason", usage.reason.into());
    put("rule", usage.rule.into());
    put("decision", usage.decision.into());
    put("policy_epoch", usage.policy_epoch.into());
    // A number of 64 bits is no number of JSON for everybody.
    put("run", run.into());
    put("mount", usage.mount.to_string().into());
    put("stream", usage.stream_id.into());
    Value::Object(object)
}

#[cfg(test)]
mod tests {
    use tapeline_entitle::Kind;

    use super::*;

    #[test]
    fn a_compressed_journal_is_read_as_it_was_and_one_that_is_torn_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut bytes = Vec::new();
        Usage { user: "ann", ..Usage::of(Kind::Login, 2) }.encode(&mut bytes);
        let [plain, packed, torn] = ["a.journal", "b.journal.zst", "c.journal.zst"];
        let [plain, packed, torn] = [plain, packed, torn].map(|name| folder.path().join(name));
        fs::write(&plain, &bytes).expect("room");
        let compressed = zstd::encode_all(bytes.as_slice(), 0).expect("in memory");
        fs::write(&packed, &compressed).expect("room");
        fs::write(&torn, &compressed[..compressed.len() - 4]).expect("room");
        let journals =
            Journals::read(&[plain, packed]).unwrap_or_else(|_| panic!("they are whole"));
        let users: Vec<_> = journals.records().iter().map(|usage| usage.user).collect();
        assert_eq!(users, ["ann", "ann"]);
        assert!(Journals::read(&[torn]).is_err());
    }

    #[test]
    fn a_record_says_what_applies_to_it() {
        let denied = Usage {
            user: "ann",
            service: "FEED",
            item: "VOD.L",
            domain: 6,
            lock: &[3, 1, 1, 0x62, 0xC0],
            code: 3,
            reason: "Access Denied: User req to PE(62)",
            rule: "policy.toml:7",
            run: 255,
            mount: 1 << 60,
            stream_id: -5,
            ..Usage::of(Kind::AccessDenied, 1_795_564_800_001)
        };
        let expected = serde_json::json!({
            "time": "2026-11-25T00:00:00.001000000Z", "event": "access-denied", "user": "ann",
            "service": "FEED", "item": "VOD.L", "domain": 6, "lock": "03010162c0", "code": 3,
            "reason": "Access Denied: User req to PE(62)", "rule": "policy.toml:7",
            "run": "00000000000000ff", "mount": "1152921504606846976", "stream": -5,
        });
        assert_eq!(json(&denied), expected);
        let used =
            Usage { products: "L1\nL2", prod_perm: Some(0), ..Usage::of(Kind::StartWatch, 0) };
        assert_eq!(json(&used)["products"], serde_json::json!(["L1", "L2"]));
    }
}
