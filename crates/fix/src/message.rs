//! A message, read where it lies.

use crate::error::FixError;

/// One field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field<'m> {
    /// Its number; 0 where there is none, or no `=` behind it.
    pub tag: u32,
    /// What is behind the `=`, without the end.
    pub value: &'m [u8],
}

/// One whole message, whose length and checksum are right.
#[derive(Clone, Copy, Debug)]
pub struct Message<'m> {
    frame: &'m [u8],
    msg_type: &'m [u8],
}

impl<'m> Message<'m> {
    /// Reads one whole frame.
    pub fn read(frame: &'m [u8]) -> Result<Self, FixError> {
        let _ = frame;
        todo!()
    }

    /// Its bytes, all of them.
    pub const fn frame(&self) -> &'m [u8] {
        self.frame
    }

    /// Its type, 35.
    pub const fn msg_type(&self) -> &'m [u8] {
        self.msg_type
    }

    /// The value of the first field of a tag.
    ///
    /// Looks through the message: who reads many fields goes through
    /// [`fields`](Self::fields) once.
    pub fn get(&self, tag: u32) -> Option<&'m [u8]> {
        self.fields().find(|field| field.tag == tag).map(|field| field.value)
    }

    /// A whole number. `None` where the field is not there, `Some(Err(value))` where
    /// its value is no number.
    pub fn number(&self, tag: u32) -> Option<Result<i64, &'m [u8]>> {
        let _ = tag;
        todo!()
    }

    /// All fields behind the type and before the checksum, in their order.
    pub fn fields(&self) -> Fields<'m> {
        Fields { rest: self.frame }
    }

    /// The entries of a repeating group: what is behind `count_tag`, cut before each
    /// `first_tag`.
    pub fn group(&self, count_tag: u32, first_tag: u32) -> Group<'m> {
        let _ = count_tag;
        Group { rest: self.fields(), first_tag }
    }
}

/// The fields of a message, or of an entry of a group.
#[derive(Clone, Copy, Debug)]
pub struct Fields<'m> {
    rest: &'m [u8],
}

impl Fields<'_> {
    /// The value of the first field of a tag.
    pub fn get(&self, tag: u32) -> Option<&[u8]> {
        let mut fields = *self;
        fields.find(|field| field.tag == tag).map(|field| field.value)
    }
}

impl<'m> Iterator for Fields<'m> {
    type Item = Field<'m>;

    fn next(&mut self) -> Option<Field<'m>> {
        let _ = self.rest;
        todo!()
    }
}

/// The entries of a repeating group.
#[derive(Clone, Copy, Debug)]
pub struct Group<'m> {
    rest: Fields<'m>,
    first_tag: u32,
}

impl<'m> Iterator for Group<'m> {
    type Item = Fields<'m>;

    fn next(&mut self) -> Option<Fields<'m>> {
        let _ = (self.rest, self.first_tag);
        todo!()
    }
}
