//! Listens, gives every item an image, and updates all of them ten times a
//! second.
//!
//! ```text
//! cargo run -p tapeline-api --example provider -- --listen 0.0.0.0:14002 --service FEED
//! ```

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tapeline_api::{
    ApiError, Payload, Provider, ProviderConfig, ProviderEvent, RefreshHead, Responses,
    ServiceSpec, StreamHandle, UpdateHead, encode_update, fields,
};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_rwf::{Domain, NakCode, Real};

const INTERVAL: Duration = Duration::from_millis(100);

/// Bid (field 22) and ask (field 25), in hundredths.
fn quote(bid: i64) -> impl Payload {
    fields(move |list| {
        list.put(22, Real::decimal(bid, 2))?;
        list.put(25, Real::decimal(bid + 3, 2))
    })
}

/// The streams that are open, and what they are worth.
struct Market {
    streams: BTreeSet<StreamHandle>,
    bid: i64,
}

impl Market {
    fn event(
        &mut self,
        event: ProviderEvent<'_>,
        responses: &mut Responses<'_>,
    ) -> Result<(), ApiError> {
        match event {
            ProviderEvent::LoggedIn { client, request } => {
                println!("{client:?}: {} logged in", request.user_name);
            }
            ProviderEvent::Request { stream, .. }
            | ProviderEvent::Reissue { stream, wants_image: true, .. } => {
                self.streams.insert(stream);
                responses.refresh(stream, &RefreshHead::default(), &quote(self.bid))?;
            }
            ProviderEvent::Close { stream } => {
                self.streams.remove(&stream);
            }
            ProviderEvent::Post { receipt, .. } => {
                responses.nak(receipt, NakCode::DENIED_BY_SRC, "this provider takes no posts")?;
            }
            _ => {}
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut listen, mut service) = ("0.0.0.0:14002".to_owned(), "FEED".to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let value = arguments.next().ok_or(format!("{argument} needs a value"))?;
        match argument.as_str() {
            "--listen" => listen = value,
            "--service" => service = value,
            _ => return Err(format!("unknown argument {argument}").into()),
        }
    }
    let config = ProviderConfig::new([ServiceSpec::new(1, service).entry()])
        .dictionary(Arc::new(FieldDictionary::builtin().clone()));
    let mut provider = Provider::new(config)?;
    println!("listening at {}", provider.listen(listen.parse()?)?);
    let mut market = Market { streams: BTreeSet::new(), bid: 4500 };
    let (mut buffer, mut next) = (Vec::new(), Instant::now());
    loop {
        let wait = next.saturating_duration_since(Instant::now());
        provider.poll(
            Some(wait),
            &mut |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
                if let Err(error) = market.event(event, responses) {
                    println!("not sent: {error}");
                }
            },
        );
        if Instant::now() >= next {
            next += INTERVAL;
            market.bid += 1;
            // Encoded once, and copied for each stream.
            let (price, streams) = (quote(market.bid), Vec::from_iter(market.streams.clone()));
            let len = encode_update(&mut buffer, Domain::MARKET_PRICE, &UpdateHead::QUOTE, &price)?;
            provider.with(|responses| responses.update_all(&streams, &buffer[..len]))?;
        }
    }
}
