//! Rows of tables that a core holds, for whoever looks from outside.

use std::borrow::Cow;

use crate::Unit;

/// A cell of a row.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing is known.
    None,
    /// A number without a sign.
    Number(u64),
    /// A number with a sign.
    Signed(i64),
    /// Yes or no.
    Flag(bool),
    /// Words.
    Text(Cow<'static, str>),
}

impl Value {
    /// By what rows are put into order: a number whatever its sign, or how many there are
    /// of a flag.
    pub fn rank(&self) -> u64 {
        match self {
            Self::None | Self::Text(_) => 0,
            Self::Number(number) => *number,
            Self::Signed(number) => number.unsigned_abs(),
            Self::Flag(flag) => u64::from(*flag),
        }
    }
}

macro_rules! number {
    ($($type:ty),*) => { $(
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::Number(value as u64)
            }
        }
    )* };
}

number!(u8, u16, u32, u64, usize);

impl From<i64> for Value {
    fn from(value: i64) -> Self {
        Self::Signed(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value.into())
    }
}

impl From<&'static str> for Value {
    fn from(value: &'static str) -> Self {
        Self::Text(value.into())
    }
}

impl<T: Into<Self>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::None, Into::into)
    }
}

/// The cells of one row, in the order of its view's columns.
pub type Row = Vec<Value>;

/// A column of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, the classic one where there is one.
    pub name: &'static str,
    /// What is counted, where it is not things.
    pub unit: Unit,
    /// The lines of its documentation.
    pub about: &'static [&'static str],
}

/// A table that can be looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Its name: `mounts`.
    pub name: &'static str,
    /// The lines of its documentation.
    pub about: &'static [&'static str],
    /// Its columns, in order.
    pub columns: &'static [Column],
}

impl View {
    /// The column that is a rate, and the one of which it is: `messagesPerS` is how much
    /// `messages` went up in a second. A core leaves its cell empty.
    pub fn rate(&self) -> Option<(usize, usize)> {
        self.columns.iter().enumerate().find_map(|(rate, column)| {
            let of = self.column(column.name.strip_suffix("PerS")?)?;
            Some((rate, of))
        })
    }

    /// The place of a column by name.
    pub fn column(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|column| column.name == name)
    }
}

/// A struct that is a row, made by [`rows!`](crate::rows).
pub trait Rowed {
    /// What its fields are.
    const VIEW: &'static View;

    /// Its cells.
    fn into_row(self) -> Row;
}

/// Who has tables that can be looked at.
///
/// A table is a number of places, of which some have a row: what is looked at in a
/// slice is then bounded whatever the filter is.
pub trait Viewed {
    /// Its tables.
    fn views(&self) -> &'static [&'static View];

    /// Places of a table; 0 for one that there is not.
    fn places(&self, view: &View) -> u32;

    /// The row at a place, if there is one.
    fn row(&self, view: &View, place: u32) -> Option<Row>;

    /// Whether the row at a place is of a mount, by its session; of no mount, unless the
    /// table has rows that are.
    fn is_of(&self, view: &View, place: u32, mount: &str) -> bool {
        let _ = (view, place, mount);
        false
    }

    /// A number that tells what is at a place from what was there before, where rows have
    /// a [rate](View::rate).
    fn identity(&self, view: &View, place: u32) -> u64 {
        let _ = (view, place);
        0
    }

    /// What the row at a place has in a column, as a number to put rows into order
    /// by. Large tables say it without making the row.
    fn rank(&self, view: &View, place: u32, column: usize) -> Option<u64> {
        self.row(view, place)?.get(column).map(Value::rank)
    }
}

/// Tables outside of hubs and servers that any thread may read, like those in files.
pub trait TableReader: std::fmt::Debug + Send + Sync {
    /// Whose they are.
    fn name(&self) -> &str;

    /// Its tables.
    fn views(&self) -> &'static [&'static View];

    /// All rows of one of its tables.
    ///
    /// Errors: they cannot be read now, as a sentence for people.
    fn read(&self, view: &View) -> Result<Vec<Row>, String>;
}

/// Defines a row: the struct, its columns, and how it becomes cells.
///
/// ```
/// use tapeline_counters::{Rowed, Value, rows};
///
/// rows! {
///     /// Users with a mount.
///     pub struct UserRow = "users" {
///         /// The name that the user logs in with.
///         "loginName" => login_name: String;
///         /// Bytes that wait.
///         "backlogBytes" => backlog_bytes: usize, in bytes;
///     }
/// }
/// let row = UserRow { login_name: "ann".to_owned(), backlog_bytes: 7 };
/// assert_eq!(UserRow::VIEW.column("backlogBytes"), Some(1));
/// assert_eq!(row.into_row(), [Value::Text("ann".into()), Value::Number(7)]);
/// ```
#[macro_export]
macro_rules! rows {
    (
        $(#[doc = $about:literal])*
        $visibility:vis struct $struct:ident = $view:literal {
            $(
                $(#[doc = $doc:literal])*
                $column:literal => $field:ident: $type:ty $(, in $unit:ident)?;
            )*
        }
    ) => {
        $(#[doc = $about])*
        #[derive(Clone, Debug, PartialEq)]
        #[allow(clippy::struct_excessive_bools, reason = "each is a column of its own")]
        $visibility struct $struct {
            $( $(#[doc = $doc])* $visibility $field: $type, )*
        }

        impl $crate::Rowed for $struct {
            const VIEW: &'static $crate::View = &$crate::View {
                name: $view,
                about: &[$($about),*],
                columns: &[$( $crate::Column {
                    name: $column,
                    unit: $crate::counts!(@unit $($unit)?),
                    about: &[$($doc),*],
                }, )*],
            };

            fn into_row(self) -> $crate::Row {
                vec![$( self.$field.into(), )*]
            }
        }
    };
}
