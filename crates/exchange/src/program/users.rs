//! Who trades, for which firms, and who may have market data again, in the file.

use std::time::Duration;

use serde::Deserialize;
use tapeline_exchange::{FirmConfig, ReaderConfig, UserConfig};
use tapeline_matching::SelfMatch;
use toml::Spanned;

/// Who may trade.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) password: String,
    pub(crate) firm: u16,
    #[serde(default = "yes")]
    pub(crate) auto_cancel: bool,
    #[serde(default)]
    pub(crate) self_match: SelfMatchName,
    /// Firms of whose reports it gets copies; then it does not trade.
    #[serde(default)]
    pub(crate) copies: Vec<u16>,
    /// Its session is gone for so long: the users of these firms are stopped.
    pub(crate) stop_after_s: Option<Spanned<u64>>,
    /// Firms whose trades are confirmed to it; then it does not trade.
    pub(crate) settles: Option<Spanned<Vec<u16>>>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum SelfMatchName {
    #[default]
    Allowed,
    CancelIncoming,
    CancelResting,
}

/// Who may have market data again.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Reader {
    pub(crate) name: String,
    pub(crate) password: String,
}

/// A firm that has a name in market data.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Firm {
    pub(crate) number: Spanned<u16>,
    pub(crate) name: Spanned<String>,
}

/// Characters that a firm's name has room for in market data.
const FIRM_NAME: usize = 11;

const fn yes() -> bool {
    true
}

impl User {
    /// What cannot be, and where in the file.
    pub(super) fn fault(&self) -> Option<(usize, String)> {
        let name = &self.name;
        match (&self.stop_after_s, &self.settles) {
            (Some(stops), _) if self.copies.is_empty() => {
                let what = format!(
                    "{name} has stop-after-s and no copies; name the firms it answers for in copies"
                );
                Some((stops.span().start, what))
            }
            (_, Some(settles)) if !self.copies.is_empty() => {
                let what = format!("{name} has copies and settles; give each to a user of its own");
                Some((settles.span().start, what))
            }
            _ => None,
        }
    }

    /// What the exchange has of it.
    pub(super) fn config(&self) -> UserConfig {
        UserConfig {
            name: self.name.clone(),
            password: self.password.clone(),
            firm: self.firm,
            auto_cancel: self.auto_cancel,
            self_match: match self.self_match {
                SelfMatchName::Allowed => SelfMatch::Allowed,
                SelfMatchName::CancelIncoming => SelfMatch::CancelIncoming,
                SelfMatchName::CancelResting => SelfMatch::CancelResting,
            },
            copies: self.copies.clone(),
            stop_after: self.stop_after_s.as_ref().map(|of| Duration::from_secs(*of.get_ref())),
            settles: self.settles.iter().flat_map(Spanned::get_ref).copied().collect(),
        }
    }
}

impl Firm {
    /// What cannot be, and where in the file.
    pub(super) fn fault(firms: &[Self]) -> Option<(usize, String)> {
        firms.iter().enumerate().find_map(|(at, Self { number, name })| {
            let is_doubled = |other: &Self| other.number.get_ref() == number.get_ref();
            if firms[..at].iter().any(is_doubled) {
                let what = format!("two firms have the number {}", number.get_ref());
                return Some((number.span().start, what));
            }
            let text = name.get_ref();
            let is_good = (1..=FIRM_NAME).contains(&text.len())
                && text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ');
            let what = || {
                format!(
                    "{text:?} is no name of a firm in market data; give 1 to {FIRM_NAME} \
                     characters of ASCII"
                )
            };
            (!is_good).then(|| (name.span().start, what()))
        })
    }

    /// What the exchange has of it.
    pub(super) fn config(&self) -> FirmConfig {
        FirmConfig { number: *self.number.get_ref(), name: self.name.get_ref().clone() }
    }
}

impl Reader {
    /// What the exchange has of it.
    pub(super) fn config(&self) -> ReaderConfig {
        ReaderConfig { name: self.name.clone(), password: self.password.clone() }
    }
}
