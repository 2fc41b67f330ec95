//! The fields of a message, found by their tags.

use crate::message::{Field, Fields, Message};

/// Fields that have a place; an order has half as many.
const PLACES: usize = 48;

/// The fields of a message, cut out once: for who asks for many of them by their tags.
///
/// Asking a [`Message`] cuts out all that are in front of the field each time, and all
/// that there are where it is missing. Here it is a look at as many tags. Fields behind
/// the 48th are found as in a message.
#[derive(Clone, Debug)]
pub struct Index<'m> {
    tags: [u32; PLACES],
    values: [&'m [u8]; PLACES],
    len: usize,
    /// What is behind the places.
    rest: Fields<'m>,
}

impl<'m> Index<'m> {
    /// Of a message.
    pub fn of(message: &Message<'m>) -> Self {
        let (mut tags, mut values) = ([0; PLACES], [&[][..]; PLACES]);
        let (mut rest, mut len) = (message.fields(), 0);
        while len < PLACES {
            let Some(Field { tag, value }) = rest.next() else { break };
            (tags[len], values[len]) = (tag, value);
            len += 1;
        }
        Self { tags, values, len, rest }
    }

    /// The value of the first field of a tag.
    #[inline]
    pub fn get(&self, tag: u32) -> Option<&'m [u8]> {
        match self.tags[..self.len].iter().position(|of| *of == tag) {
            Some(place) => Some(self.values[place]),
            None => self.rest.get(tag),
        }
    }

    /// All of them, in their order.
    pub fn fields(&self) -> impl Iterator<Item = Field<'m>> {
        let placed = self.tags.iter().zip(&self.values).take(self.len);
        placed.map(|(tag, value)| Field { tag: *tag, value }).chain(self.rest.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::wire;

    #[test]
    fn fields_are_found_as_in_a_message_however_many_there_are() {
        for count in [0, 1, PLACES - 1, PLACES, PLACES + 1, 3 * PLACES] {
            let fields = |at: usize| format!("{}={at}|", 1000 + at % 100);
            let body: String = (0..count).map(fields).collect();
            let wire = wire(&format!("35=D|{body}"));
            let message = Message::read(&wire).expect("a whole message");
            let index = Index::of(&message);
            for tag in 999..1101 {
                assert_eq!(index.get(tag), message.get(tag), "{tag} of {count}");
            }
            assert!(index.fields().eq(message.fields()), "of {count}");
        }
    }
}
