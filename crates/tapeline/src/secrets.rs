//! What a process holds of secrets stays in it: they are in no core dump.

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

use crate::config::Settings;

/// Whether a process with these settings has keys, passwords or tokens: its own, or
/// those by which others log in.
fn are_held(settings: &Settings) -> bool {
    let of_sources = settings.sources.iter().any(|source| {
        source.password_file.is_some() || source.token_file.is_some() || source.tls_key.is_some()
    });
    of_sources
        || settings.backbone.key_file.is_some()
        || settings.admin.token_file.is_some()
        || settings.token.jwks.is_some()
        || settings.authoriser.url.is_some()
        || [&settings.admin.tls_key, &settings.hub.tls_key, &settings.server.tls_key]
            .iter()
            .any(|key| key.is_some())
}

/// Has the kernel write no core dump of a process that holds secrets, and let nobody
/// but root look into it.
pub(crate) fn keep(settings: &Settings) {
    if settings.profile.core_dumps || !are_held(settings) {
        return;
    }
    let Rlimit { maximum, .. } = getrlimit(Resource::Core);
    let limited = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum });
    // Dumps that go to a program have no limit.
    let kept = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    match limited.and(kept) {
        Ok(()) => tracing::info!("the process holds secrets; there will be no core dump"),
        Err(error) => tracing::warn!(%error, "secrets of the process may be in a core dump"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        Settings::parse(std::path::Path::new("site.toml"), text, "1").expect("good")
    }

    #[test]
    fn keys_passwords_and_tokens_are_secrets() {
        assert!(!are_held(&settings("[server]\nrssl-port = 0\n")));
        for text in [
            "[backbone]\nkey-file = \"k\"\n",
            "[admin]\ntoken-file = \"t\"\n",
            "[admin]\ntls-key = \"k\"\n",
            "[hub]\ntls-key = \"k\"\n",
            "[server]\ntls-key = \"k\"\n",
            "[token]\njwks = \"j\"\n",
            "[authoriser]\nurl = \"http://127.0.0.1:1/\"\n",
            "[[hub.source]]\nhosts = [\"h:1\"]\npassword-file = \"p\"\n",
            "[[hub.source]]\nhosts = [\"h:1\"]\ntoken-file = \"t\"\n",
            "[[hub.source]]\nhosts = [\"h:1\"]\ntls-key = \"k\"\n",
        ] {
            assert!(are_held(&settings(text)), "{text}");
        }
    }
}
