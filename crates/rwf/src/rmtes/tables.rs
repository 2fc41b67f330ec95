//! The seven character sets that escape sequences select.

/// Characters in one row or column of a set: bytes 21..7E, or A1..FE.
const ROW: usize = 94;

/// Bytes of one two-byte set in `tables.bin`.
const TWO_BYTE_SET: usize = ROW * ROW * 2;

/// The two-byte sets: kanji, Chinese 1, Chinese 2. Each has 94 rows of 94
/// characters, each one a 16-bit big-endian code point, U+FFFD where the set
/// has none.
///
/// ```text
/// offset of the character of bytes a b =
///     set * 94 * 94 * 2  +  ((a - 21h) * 94 + (b - 21h)) * 2
/// ```
///
/// `tests/it/rmtes.rs` compares every character of every set with the reference.
static TWO_BYTE_SETS: &[u8; 3 * TWO_BYTE_SET] = include_bytes!("tables.bin");

/// The graphic characters A1..FE of the Latin supplement. Five positions (A4,
/// A6, B4, D0, F0) hold glyphs that Unicode lacks and that come out as an
/// underscore and a letter; the letter is given here.
const LATIN: [char; ROW] = [
    '¡', '¢', '£', 'r', '¥', 'w', '§', '¤', '©', 'ª', '«', '⅛', '⅜', '⅝', '⅞', '°', //
    '±', '²', '³', 't', 'µ', '¶', '·', '␇', '¹', 'º', '»', '¼', '½', '¾', '¿', 'À', //
    'Á', 'Â', 'Ã', 'Ä', 'Å', 'Æ', 'Ç', 'È', 'É', 'Ê', 'Ë', 'Ì', 'Í', 'Î', 'Ï', 'p', //
    'Ñ', 'Ò', 'Ó', 'Ô', 'Õ', 'Ö', 'Œ', 'Ø', 'Ù', 'Ú', 'Û', 'Ü', 'Ÿ', '⇧', 'ß', 'à', //
    'á', 'â', 'ã', 'ä', 'å', 'æ', 'ç', 'è', 'é', 'ê', 'ë', 'ì', 'í', 'î', 'ï', 'u', //
    'ñ', 'ò', 'ó', 'ô', 'õ', 'ö', 'œ', 'ø', 'ù', 'ú', 'û', 'ü', 'ÿ', '⇩',
];

/// A character set that G0..G3 can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Set {
    /// Basic 1: ASCII.
    Ascii,
    /// Basic 2: Latin letters with marks, fractions, signs.
    Latin,
    /// Half-width katakana, 63 characters.
    Katakana,
    /// ASCII with yen sign and overline.
    JapaneseLatin,
    /// Kanji, two bytes.
    Kanji,
    /// Chinese 1, two bytes.
    Chinese1,
    /// Chinese 2, two bytes.
    Chinese2,
}

/// What a byte with its top bit cleared, in 21..7E, stands for in a set.
pub(super) enum Glyph {
    One(char),
    /// An underscore and this character.
    Underscored(char),
    /// The first byte of a character of two; the table to look it up in.
    Lead(TwoByteTable),
}

/// One of the two-byte sets; the number is its place in `tables.bin`.
#[derive(Clone, Copy)]
pub(super) struct TwoByteTable(usize);

impl TwoByteTable {
    /// The character of a lead and a trail byte, both with their top bit
    /// cleared and in 21..7E; U+FFFD where there is none.
    pub(super) fn character(self, lead: u8, trail: u8) -> char {
        let at = self.0 * TWO_BYTE_SET + (place(lead) * ROW + place(trail)) * 2;
        let code = u16::from_be_bytes([TWO_BYTE_SETS[at], TWO_BYTE_SETS[at + 1]]);
        char::from_u32(u32::from(code)).unwrap_or(char::REPLACEMENT_CHARACTER)
    }
}

impl Set {
    /// What `byte`, with its top bit cleared and in 21..7E, stands for.
    pub(super) fn glyph(self, byte: u8) -> Glyph {
        match self {
            Self::Ascii => Glyph::One(char::from(byte)),
            Self::Latin => match (byte, LATIN[place(byte)]) {
                (0x24 | 0x26 | 0x34 | 0x50 | 0x70, second) => Glyph::Underscored(second),
                (_, character) => Glyph::One(character),
            },
            Self::Katakana => Glyph::One(katakana(byte)),
            Self::JapaneseLatin => Glyph::One(match byte {
                b'\\' => '¥',
                b'~' => '‾',
                _ => char::from(byte),
            }),
            Self::Kanji => Glyph::Lead(TwoByteTable(0)),
            Self::Chinese1 => Glyph::Lead(TwoByteTable(1)),
            Self::Chinese2 => Glyph::Lead(TwoByteTable(2)),
        }
    }
}

/// Index of a byte of 21..7E in a row of [`ROW`] characters.
fn place(byte: u8) -> usize {
    usize::from(byte.wrapping_sub(0x21)) % ROW
}

/// Half-width katakana are in the same order in Unicode, U+FF61..U+FF9F.
fn katakana(byte: u8) -> char {
    if byte > 0x5F {
        return char::REPLACEMENT_CHARACTER;
    }
    char::from_u32(0xFF61 + u32::from(byte.saturating_sub(0x21)))
        .unwrap_or(char::REPLACEMENT_CHARACTER)
}
