//! A section of the configuration: one struct whose fields are the keys.
//!
//! The doc comment of a field is the key's documentation everywhere: in the
//! code, in `tapeline config reference` and in docs/configuration.md.

use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::de::DeValue;

/// What it takes to have another value of a key hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// It holds at once, while all goes on.
    Live,
    /// It holds for who connects from then on; connections that are there stay as
    /// they are.
    Reconnect,
    /// The process is to be started again.
    Restart,
}

impl Class {
    /// The word for it in the reference and in plans.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Reconnect => "reconnect",
            Self::Restart => "restart",
        }
    }
}

/// A key, as the reference shows it.
#[derive(Debug)]
pub(crate) struct Key {
    /// Its name in the file.
    pub(crate) name: &'static str,
    /// What may stand behind the `=`.
    pub(crate) form: String,
    /// Its value as TOML if the file does not have it; empty for none.
    pub(crate) default: String,
    /// What it takes to change it.
    pub(crate) class: Class,
    /// The lines of its documentation.
    pub(crate) about: &'static [&'static str],
}

/// A section of the file.
pub(crate) trait Section {
    /// The name between the brackets.
    fn name(&self) -> &'static str;
    /// The lines of its documentation.
    fn about(&self) -> &'static [&'static str];
    /// Its keys, in the order of the reference.
    fn keys(&self) -> Vec<Key>;
    /// Sets a key. `None` if there is no such key; the error says what the
    /// value has to be.
    fn set(&mut self, key: &str, value: &DeValue<'_>) -> Option<Result<(), String>>;
    /// Every key with its value as TOML; empty for none.
    fn values(&self) -> Vec<(&'static str, String)>;
}

/// The range of a number, as part of its form.
pub(super) fn in_range<T: PartialOrd + Display>(
    value: &T,
    range: &RangeInclusive<T>,
) -> Result<(), String> {
    if range.contains(value) {
        return Ok(());
    }
    Err(format!("is {value}; give {} to {}", range.start(), range.end()))
}

/// Defines a section: the struct, its defaults, and how its keys are read,
/// written and explained. Behind `=>` at the end is what it takes to change a key,
/// if that is not a restart: `Live` or `Reconnect`.
macro_rules! section {
    (
        $(#[doc = $about:literal])*
        $struct:ident = $section:literal {
            $(
                $(#[doc = $doc:literal])*
                $key:literal => $field:ident: $type:ty = $default:expr
                $(, in $range:expr)? $(=> $class:ident)?;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::struct_excessive_bools, reason = "each is a key of its own")]
        pub(crate) struct $struct {
            $( $(#[doc = $doc])* pub(crate) $field: $type, )*
        }

        impl Default for $struct {
            fn default() -> Self {
                Self { $( $field: $default, )* }
            }
        }

        impl $crate::config::section::Section for $struct {
            fn name(&self) -> &'static str {
                $section
            }

            fn about(&self) -> &'static [&'static str] {
                &[$($about),*]
            }

            fn keys(&self) -> Vec<$crate::config::section::Key> {
                use $crate::config::value::Setting;
                let default = Self::default();
                vec![$(
                    $crate::config::section::Key {
                        name: $key,
                        form: {
                            #[allow(unused_mut, reason = "only numbers have a range")]
                            let mut form = <$type as Setting>::form();
                            $(
                                let range: std::ops::RangeInclusive<$type> = $range;
                                form = format!("{form}, {} to {}", range.start(), range.end());
                            )?
                            form
                        },
                        default: default.$field.show(),
                        class: [
                            $( $crate::config::section::Class::$class, )?
                            $crate::config::section::Class::Restart,
                        ][0],
                        about: &[$($doc),*],
                    },
                )*]
            }

            fn set(
                &mut self,
                key: &str,
                value: &toml::de::DeValue<'_>,
            ) -> Option<Result<(), String>> {
                use $crate::config::value::Setting;
                match key {
                    $( $key => {
                        let value = match <$type as Setting>::read(value) {
                            Ok(value) => value,
                            Err(error) => return Some(Err(error)),
                        };
                        $(
                            let range = $crate::config::section::in_range(&value, &$range);
                            if let Err(error) = range {
                                return Some(Err(error));
                            }
                        )?
                        self.$field = value;
                        Some(Ok(()))
                    } )*
                    _ => None,
                }
            }

            fn values(&self) -> Vec<(&'static str, String)> {
                use $crate::config::value::Setting;
                vec![$( ($key, self.$field.show()), )*]
            }
        }
    };
}

pub(super) use section;
