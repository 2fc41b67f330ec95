//! How SBE lays out fields, blocks and groups.

use std::fmt;
use std::marker::PhantomData;

use tapeline_layout::Field;

use crate::error::MdpError;

/// How a field is on the wire, and what it is to who reads it.
pub(crate) trait Wire {
    /// What is read.
    type Value: Copy;

    /// How many bytes it has.
    const LEN: usize;

    /// Reads it from bytes of this length.
    fn get(bytes: &[u8]) -> Self::Value;

    /// Writes it to bytes of this length.
    fn put(value: Self::Value, out: &mut [u8]);
}

impl<T: Field> Wire for T {
    type Value = T;

    const LEN: usize = <T as Field>::LEN;

    #[inline]
    fn get(bytes: &[u8]) -> T {
        Field::get(bytes)
    }

    #[inline]
    fn put(value: T, out: &mut [u8]) {
        Field::put(value, out);
    }
}

/// A field that may be null, which is a value of its own.
pub(crate) trait Nullable: Field + PartialEq {
    /// That value.
    const NULL: Self;
}

/// As CME's schema has them, which are not SBE's own.
macro_rules! highest_is_null {
    ($($type:ty),*) => {$(
        impl Nullable for $type {
            const NULL: Self = Self::MAX;
        }
    )*};
}

highest_is_null!(u8, u32, u64, i8, i32);

/// A field that is none where it is null.
pub(crate) struct Null<T>(PhantomData<T>);

impl<T: Nullable> Wire for Null<T> {
    type Value = Option<T>;

    const LEN: usize = <T as Field>::LEN;

    #[inline]
    fn get(bytes: &[u8]) -> Option<T> {
        Some(<T as Field>::get(bytes)).filter(|value| *value != T::NULL)
    }

    #[inline]
    fn put(value: Option<T>, out: &mut [u8]) {
        Field::put(value.unwrap_or(T::NULL), out);
    }
}

/// A quantity of any width, to be read as one of 64 bits.
pub(crate) trait Quantity: Nullable {
    /// The highest there is if it is higher.
    fn widen(self) -> i64;

    /// The nearest there is.
    fn narrow(quantity: i64) -> Self;
}

impl Quantity for i32 {
    #[inline]
    fn widen(self) -> i64 {
        self.into()
    }

    #[inline]
    fn narrow(quantity: i64) -> Self {
        quantity.clamp(Self::MIN.into(), Self::MAX.into()) as Self
    }
}

impl Quantity for u64 {
    #[inline]
    fn widen(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }

    #[inline]
    fn narrow(quantity: i64) -> Self {
        quantity.max(0) as Self
    }
}

/// A quantity.
pub(crate) struct Wide<T>(PhantomData<T>);

impl<T: Quantity> Wire for Wide<T> {
    type Value = i64;

    const LEN: usize = <T as Field>::LEN;

    #[inline]
    fn get(bytes: &[u8]) -> i64 {
        <T as Field>::get(bytes).widen()
    }

    #[inline]
    fn put(value: i64, out: &mut [u8]) {
        Field::put(T::narrow(value), out);
    }
}

/// A quantity that is none where it is null.
pub(crate) struct WideNull<T>(PhantomData<T>);

impl<T: Quantity> Wire for WideNull<T> {
    type Value = Option<i64>;

    const LEN: usize = <T as Field>::LEN;

    #[inline]
    fn get(bytes: &[u8]) -> Option<i64> {
        Null::<T>::get(bytes).map(Quantity::widen)
    }

    #[inline]
    fn put(value: Option<i64>, out: &mut [u8]) {
        Null::<T>::put(value.map(T::narrow), out);
    }
}

/// A block: the fields of a message, or of one entry of a group, at fixed places.
pub(crate) trait Block<Of> {
    /// How many bytes it is written with.
    const LEN: usize;

    /// Up to the last field that is read.
    const LEAST: usize;

    /// Reads it from [`LEAST`](Self::LEAST) bytes or more.
    fn read(bytes: &[u8]) -> Of;

    /// Appends it.
    fn append(of: &Of, out: &mut Vec<u8>);
}

/// Makes a [`Block`] of a template's table: places, names and types of the fields of
/// a struct. `null` is a field that is not read, and written as null; `else` what a
/// field is that this template does not have.
macro_rules! block {
    ($(#[$doc:meta])* $name:ident of $of:ident$(<$life:lifetime>)?, $len:literal {
        $($at:literal => $field:ident: $type:ty,)*
        $(null $null_at:literal: $null_type:ty,)*
        $(else $else_field:ident: $else_value:expr,)*
    }) => {
        $(#[$doc])*
        pub(crate) struct $name;

        impl$(<$life>)? $crate::wire::Block<$of$(<$life>)?> for $name {
            const LEN: usize = $len;

            const LEAST: usize = {
                let fields = &[$(($at, <$type as $crate::wire::Wire>::LEN),)*];
                assert!(tapeline_layout::is_in_order(fields, 0, $len), "fields overlap");
                let (at, len) = fields[fields.len() - 1];
                at + len
            };

            #[inline]
            fn read(bytes: &[u8]) -> $of$(<$life>)? {
                // One check of the length for all fields.
                let bytes = &bytes[..<Self as $crate::wire::Block<$of$(<$life>)?>>::LEAST];
                $of {
                    $($field: <$type as $crate::wire::Wire>::get(
                        &bytes[$at..$at + <$type as $crate::wire::Wire>::LEN],
                    ),)*
                    $($else_field: $else_value,)*
                }
            }

            #[inline]
            fn append(of: &$of$(<$life>)?, out: &mut Vec<u8>) {
                let mut block = [0; $len];
                $(<$type as $crate::wire::Wire>::put(
                    of.$field,
                    &mut block[$at..$at + <$type as $crate::wire::Wire>::LEN],
                );)*
                $(<$null_type as tapeline_layout::Field>::put(
                    <$null_type as $crate::wire::Nullable>::NULL,
                    &mut block[$null_at..$null_at + <$null_type as tapeline_layout::Field>::LEN],
                );)*
                out.extend_from_slice(&block);
            }
        }
    };
}

pub(crate) use block;

/// What a group begins with: the length of its blocks, and how many there are.
#[derive(Clone, Copy)]
pub(crate) enum Dimension {
    /// 3 bytes: `u16`, `u8`.
    Packed,
    /// 8 bytes, so that the entries are aligned: `u16` in front, `u8` at the end.
    Aligned,
}

impl Dimension {
    const fn len(self) -> usize {
        match self {
            Self::Packed => 3,
            Self::Aligned => 8,
        }
    }

    /// Appends it.
    pub(crate) fn append(self, block_bytes: usize, count: usize, out: &mut Vec<u8>) {
        let end = out.len() + self.len();
        out.extend_from_slice(&(block_bytes as u16).to_le_bytes());
        out.resize(end, 0);
        out[end - 1] = count as u8;
    }
}

/// The entries of a group, each of them long enough for its fields.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Group<'a> {
    blocks: &'a [u8],
    /// Not 0.
    block_bytes: usize,
}

impl<'a> Group<'a> {
    /// One without entries.
    pub(crate) const EMPTY: Self = Self { blocks: &[], block_bytes: 1 };

    /// The bytes of each entry.
    #[inline]
    pub(crate) fn blocks(self) -> std::slice::ChunksExact<'a, u8> {
        self.blocks.chunks_exact(self.block_bytes)
    }

    /// Its entries, which are of one of two templates.
    #[inline]
    pub(crate) fn either<T, Short: Block<T>, Long: Block<T>>(
        self,
        is_long: bool,
    ) -> impl Iterator<Item = T> + use<'a, T, Short, Long> {
        self.blocks().map(move |bytes| match is_long {
            true => Long::read(bytes),
            false => Short::read(bytes),
        })
    }
}

impl fmt::Debug for Group<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} bytes", self.blocks().len(), self.block_bytes)
    }
}

/// A message that is being read: what is left of it behind the head.
pub(crate) struct Body<'a> {
    template: u16,
    rest: &'a [u8],
}

impl<'a> Body<'a> {
    /// Behind the head of a message.
    pub(crate) const fn new(template: u16, rest: &'a [u8]) -> Self {
        Self { template, rest }
    }

    #[inline]
    fn take(&mut self, needed: usize) -> Result<&'a [u8], MdpError> {
        let (template, left) = (self.template, self.rest.len());
        let cut = self.rest.split_at_checked(needed);
        let (bytes, rest) = cut.ok_or(MdpError::End { template, needed, left })?;
        self.rest = rest;
        Ok(bytes)
    }

    const fn check(&self, block: usize, least: usize) -> Result<(), MdpError> {
        if block < least {
            return Err(MdpError::Block { template: self.template, block, least });
        }
        Ok(())
    }

    /// The fields of the message itself, of which it says how long they are.
    #[inline]
    pub(crate) fn block(&mut self, block: usize, least: usize) -> Result<&'a [u8], MdpError> {
        self.check(block, least)?;
        self.take(block)
    }

    /// The next group. Without one the message is of a version that had none.
    #[inline]
    pub(crate) fn group<T, B: Block<T>>(&mut self, size: Dimension) -> Result<Group<'a>, MdpError> {
        self.any_group(size, B::LEAST)
    }

    /// The next group, whose entries are of one of two templates.
    #[inline]
    pub(crate) fn either<T, Short: Block<T>, Long: Block<T>>(
        &mut self,
        is_long: bool,
    ) -> Result<Group<'a>, MdpError> {
        self.any_group(Dimension::Packed, if is_long { Long::LEAST } else { Short::LEAST })
    }

    /// The next group, whose entries have so many bytes at least.
    pub(crate) fn sized_group(&mut self, least: usize) -> Result<Group<'a>, MdpError> {
        self.any_group(Dimension::Packed, least)
    }

    #[inline]
    fn any_group(&mut self, size: Dimension, least: usize) -> Result<Group<'a>, MdpError> {
        if self.rest.is_empty() {
            return Ok(Group::EMPTY);
        }
        let head = self.take(size.len())?;
        let block = usize::from(u16::from_le_bytes([head[0], head[1]]));
        let count = usize::from(head[size.len() - 1]);
        if count == 0 {
            return Ok(Group::EMPTY);
        }
        self.check(block, least)?;
        let blocks = self.take(block * count)?;
        Ok(Group { blocks, block_bytes: block.max(1) })
    }
}
