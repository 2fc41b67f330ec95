//! The types that a key may have.

use std::path::PathBuf;

use toml::de::DeValue;

/// A type that a key may have.
pub(crate) trait Setting: Sized {
    /// What may be written, in the words of the reference.
    fn form() -> String;
    /// Reads it; the error goes on from the name of the key.
    fn read(value: &DeValue<'_>) -> Result<Self, String>;
    /// Writes it as TOML; nothing if it is not there.
    fn show(&self) -> String;
}

/// The error of a value that is of another type.
fn wrong_type<T: Setting>(value: &DeValue<'_>) -> String {
    let kind = value.type_str();
    let article = if kind.starts_with(['a', 'i']) { "an" } else { "a" };
    format!("is {article} {kind}; give {}", T::form())
}

impl Setting for bool {
    fn form() -> String {
        "true or false".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_bool().ok_or_else(|| wrong_type::<Self>(value))
    }

    fn show(&self) -> String {
        self.to_string()
    }
}

macro_rules! integers {
    ($($type:ty),*) => { $(
        impl Setting for $type {
            fn form() -> String {
                "an integer".to_owned()
            }

            fn read(value: &DeValue<'_>) -> Result<Self, String> {
                let integer = value.as_integer().ok_or_else(|| wrong_type::<Self>(value))?;
                let digits = integer.as_str().replace('_', "");
                Self::from_str_radix(&digits, integer.radix()).map_err(|_| {
                    format!("is {integer}; give {} to {}", Self::MIN, Self::MAX)
                })
            }

            fn show(&self) -> String {
                self.to_string()
            }
        }
    )* };
}

integers!(u8, u16, u32, u64, usize);

impl Setting for String {
    fn form() -> String {
        "a text".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_str().map(ToOwned::to_owned).ok_or_else(|| wrong_type::<Self>(value))
    }

    fn show(&self) -> String {
        // A JSON string is a basic string of TOML.
        serde_json::Value::from(self.as_str()).to_string()
    }
}

impl Setting for PathBuf {
    fn form() -> String {
        "the name of a file or folder, as a text".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        value.as_str().map(Self::from).ok_or_else(|| wrong_type::<Self>(value))
    }

    fn show(&self) -> String {
        self.to_string_lossy().into_owned().show()
    }
}

impl Setting for Vec<String> {
    fn form() -> String {
        "a list of texts".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let list = value.as_array().ok_or_else(|| wrong_type::<Self>(value))?;
        list.iter().map(|entry| String::read(entry.get_ref())).collect()
    }

    fn show(&self) -> String {
        let texts: Vec<String> = self.iter().map(Setting::show).collect();
        format!("[{}]", texts.join(", "))
    }
}

impl Setting for Vec<u16> {
    fn form() -> String {
        "a list of integers".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        let list = value.as_array().ok_or_else(|| wrong_type::<Self>(value))?;
        list.iter().map(|entry| u16::read(entry.get_ref())).collect()
    }

    fn show(&self) -> String {
        let numbers: Vec<String> = self.iter().map(ToString::to_string).collect();
        format!("[{}]", numbers.join(", "))
    }
}

impl<T: Setting> Setting for Option<T> {
    fn form() -> String {
        T::form()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        T::read(value).map(Some)
    }

    fn show(&self) -> String {
        self.as_ref().map(Setting::show).unwrap_or_default()
    }
}

/// A TCP port to listen on, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Port {
    /// Do not listen.
    Off,
    /// Listen here; 0 lets the system choose.
    At(u16),
}

impl std::str::FromStr for Port {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            digits => digits
                .parse()
                .map(Self::At)
                .map_err(|_| format!("is `{text}`; give a port from 0 to 65535, or `off`")),
        }
    }
}

impl Setting for Port {
    fn form() -> String {
        "a port from 0 to 65535 (0: the system chooses), or \"off\"".to_owned()
    }

    fn read(value: &DeValue<'_>) -> Result<Self, String> {
        match value.as_str() {
            Some(text) => text.parse(),
            None => u16::read(value).map(Self::At),
        }
    }

    fn show(&self) -> String {
        match self {
            Self::Off => "\"off\"".to_owned(),
            Self::At(port) => port.to_string(),
        }
    }
}

/// Defines a type whose values are a few words.
macro_rules! choice {
    (
        $(#[doc = $about:literal])*
        $enum:ident { $( $(#[doc = $doc:literal])* $word:literal => $variant:ident, )* }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum $enum { $( $(#[doc = $doc])* $variant, )* }

        impl $enum {
            const WORDS: &[(&str, Self)] = &[$( ($word, Self::$variant) ),*];

            /// The word for it in the file.
            pub(crate) fn word(self) -> &'static str {
                match self { $( Self::$variant => $word, )* }
            }
        }

        impl std::str::FromStr for $enum {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::WORDS.iter().find(|(word, _)| *word == text);
                let found = found.map(|(_, value)| *value);
                found.ok_or_else(|| {
                    let form = <Self as $crate::config::value::Setting>::form();
                    format!("is `{text}`; give {form}")
                })
            }
        }

        impl $crate::config::value::Setting for $enum {
            fn form() -> String {
                let words: Vec<&str> = Self::WORDS.iter().map(|(word, _)| *word).collect();
                format!("one of {}", words.join(", "))
            }

            fn read(value: &toml::de::DeValue<'_>) -> Result<Self, String> {
                String::read(value)?.parse()
            }

            fn show(&self) -> String {
                self.word().to_owned().show()
            }
        }
    };
}

pub(super) use choice;
