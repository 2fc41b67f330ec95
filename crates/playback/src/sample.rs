//! The sample: quotes that are made up, of items that do not exist.
//!
//! Prices walk at random, but always the same way, and come back to where they
//! began, so that the updates can go round.

use tapeline_api::{Payload, UpdateHead, encode_update, fields};
use tapeline_feed::DEFAULT_STAMP_FIELD;
use tapeline_omm::market::{Part, image};
use tapeline_rwf::{
    Domain, EncodeError, Encoder, FieldListWriter, Primitive, Real, RefreshMsg, State, UpdateType,
};

use crate::stock::{Template, UpdateTemplate};

/// Updates of an item until it is where it began.
const UPDATES: usize = 64;

/// The item, its first price, and how many decimals it has.
const ITEMS: [(&str, &str, i64, u8); 10] = [
    ("TAPE1.X", "TAPELINE ONE", 10_125, 2),
    ("TAPE2.X", "TAPELINE TWO", 4_512, 2),
    ("TAPE3.X", "TAPELINE THREE", 23_877, 2),
    ("TAPE4.X", "TAPELINE FOUR", 812, 2),
    ("TAPE5.X", "TAPELINE FIVE", 156_240, 2),
    ("XXA=", "SAMPLE AA SPOT", 10_853, 4),
    ("XXB=", "SAMPLE BB SPOT", 12_740, 4),
    ("XXC=", "SAMPLE CC SPOT", 14_936, 2),
    ("XXD=", "SAMPLE DD SPOT", 6_601, 4),
    ("XXE=", "SAMPLE EE SPOT", 8_812, 4),
];

/// Fields of the sample.
mod field {
    pub(super) const TRADE_PRICE: i16 = 6;
    pub(super) const DISPLAY_NAME: i16 = 3;
    pub(super) const BID: i16 = 22;
    pub(super) const ASK: i16 = 25;
    pub(super) const BID_SIZE: i16 = 30;
    pub(super) const ASK_SIZE: i16 = 31;
}

/// A small generator of numbers that look random (xorshift).
struct Walk(u64);

impl Walk {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }
}

/// One state of a quote.
#[derive(Clone, Copy)]
struct Quote {
    bid: i64,
    spread: i64,
    sizes: (i64, i64),
    trade: Option<i64>,
}

/// The templates of all items of the sample.
pub(super) fn templates() -> Vec<Template> {
    let items = ITEMS.iter().zip(1..);
    items
        .filter_map(|((name, display_name, price, decimals), seed)| {
            template(name, display_name, *price, *decimals, seed).ok()
        })
        .collect()
}

fn template(
    name: &str,
    display_name: &str,
    price: i64,
    decimals: u8,
    seed: u64,
) -> Result<Template, EncodeError> {
    let quotes = quotes(price, seed);
    // The last quote is where the others begin.
    let first = quotes[UPDATES - 1];
    let fields_of_image = fields(|list| {
        list.put(field::DISPLAY_NAME, Primitive::rmtes(display_name))?;
        list.put(field::TRADE_PRICE, Real::decimal(price, decimals))?;
        first.put(list, decimals)
    });
    let domain = Domain::MARKET_PRICE;
    let image = encoded_image(domain, &fields_of_image)?;
    let mut updates = Vec::with_capacity(UPDATES);
    for quote in quotes {
        let head = match quote.trade {
            Some(_) => UpdateHead::of(UpdateType::QUOTES_TRADE),
            None => UpdateHead::QUOTE,
        };
        let content = fields(|list| quote.put_update(list, decimals));
        let stamped = fields(|list| {
            quote.put_update(list, decimals)?;
            list.bytes(DEFAULT_STAMP_FIELD, &[0; 8])
        });
        updates.push(UpdateTemplate {
            plain: encoded_update(domain, &head, &content)?,
            stamped: encoded_update(domain, &head, &stamped)?,
        });
    }
    Ok(Template { name: name.to_owned(), domain, image: vec![image], updates })
}

impl Quote {
    fn put_update(
        &self,
        list: &mut FieldListWriter<'_, '_>,
        decimals: u8,
    ) -> Result<(), EncodeError> {
        if let Some(trade) = self.trade {
            list.put(field::TRADE_PRICE, Real::decimal(trade, decimals))?;
        }
        self.put(list, decimals)
    }

    fn put(&self, list: &mut FieldListWriter<'_, '_>, decimals: u8) -> Result<(), EncodeError> {
        list.put(field::BID, Real::decimal(self.bid, decimals))?;
        list.put(field::ASK, Real::decimal(self.bid + self.spread, decimals))?;
        list.put(field::BID_SIZE, Real::decimal(self.sizes.0, 0))?;
        list.put(field::ASK_SIZE, Real::decimal(self.sizes.1, 0))
    }
}

/// A walk there and the same steps back.
fn quotes(price: i64, seed: u64) -> Vec<Quote> {
    let mut walk = Walk(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut bids = vec![price];
    for _ in 0..UPDATES / 2 {
        let step = walk.next(5) as i64 - 2;
        let last = bids.last().copied().unwrap_or(price);
        bids.push((last + step).max(1));
    }
    let back = bids.iter().rev().skip(1).copied().collect::<Vec<_>>();
    bids.extend(back);
    let quote = |bid: &i64| Quote {
        bid: *bid,
        spread: 1 + walk.next(3) as i64,
        sizes: (1 + walk.next(40) as i64, 1 + walk.next(40) as i64),
        trade: (walk.next(4) == 0).then_some(*bid),
    };
    // The first bid is the image's.
    bids[1..].iter().map(quote).collect()
}

/// A whole image with stream id 0.
fn encoded_image(domain: Domain, payload: &impl Payload) -> Result<Vec<u8>, EncodeError> {
    let head =
        RefreshMsg { state: State::open_ok(""), ..image(domain, 0, None, false, Part::ONLY) };
    let mut buffer = vec![0; 4096];
    let mut encoder = Encoder::new(&mut buffer);
    payload.write(encoder.begin(&head.into(), payload.data_type())?)?;
    let len = encoder.finish()?;
    buffer.truncate(len);
    Ok(buffer)
}

fn encoded_update(
    domain: Domain,
    head: &UpdateHead<'_>,
    payload: &impl Payload,
) -> Result<Vec<u8>, EncodeError> {
    let mut buffer = Vec::new();
    let len = encode_update(&mut buffer, domain, head, payload)?;
    buffer.truncate(len);
    Ok(buffer)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tapeline_rwf::{DataType, Msg};

    fn bid(message: &[u8]) -> String {
        let msg = Msg::decode(message).expect("valid");
        let list = msg.payload().field_list().expect("fields");
        let entry = list.field(field::BID).expect("valid").expect("a bid");
        entry.typed(DataType::REAL).real().expect("valid").expect("a value").to_string()
    }

    #[test]
    fn every_item_is_there_with_an_image_and_all_updates() {
        let templates = templates();
        assert_eq!(templates.len(), ITEMS.len());
        for template in &templates {
            assert_eq!((template.image.len(), template.updates.len()), (1, UPDATES));
        }
        assert_eq!(bid(&templates[0].image[0]), "101.25");
    }

    #[test]
    fn prices_come_back_to_where_they_began() {
        for template in templates() {
            let last = template.updates.last().expect("updates");
            assert_eq!(bid(&template.image[0]), bid(&last.plain), "{}", template.name);
            let bids: Vec<String> =
                template.updates.iter().map(|update| bid(&update.plain)).collect();
            assert!(bids.iter().any(|other| *other != bids[0]), "{} moves", template.name);
        }
    }
}
