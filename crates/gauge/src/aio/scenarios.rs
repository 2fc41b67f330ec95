//! Flows that come with the tool.

/// Each by its name.
pub(super) const ALL: [(&str, &str); 8] = [
    ("order-native", include_str!("scenarios/order-native.toml")),
    ("order-fix", include_str!("scenarios/order-fix.toml")),
    ("order-journal", include_str!("scenarios/order-journal.toml")),
    ("rmds-path", include_str!("scenarios/rmds-path.toml")),
    ("eth-client", include_str!("scenarios/eth-client.toml")),
    ("eth-server", include_str!("scenarios/eth-server.toml")),
    ("nwtool-chain", include_str!("scenarios/nwtool-chain.toml")),
    ("wire", include_str!("scenarios/wire.toml")),
];

/// A line each: the name, and what the file says first.
pub(super) fn list() -> String {
    let line = |(name, text): &(&str, &str)| {
        let what = text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
        format!("{name:<14}{what}\n")
    };
    ALL.iter().map(line).collect()
}
