//! Connects to a hub, and publishes items without being asked: an image of
//! each, and updates ten times a second.
//!
//! ```text
//! cargo run -p tapeline-api --example publisher -- \
//!     --server localhost:14003 --user feed --service NI_FEED TRI.N IBM.N
//! ```
//!
//! `--server` may be given several times: when one goes away, the next is
//! tried, and all is submitted there.

use std::error::Error;
use std::time::{Duration, Instant};

use tapeline_api::{
    ApiError, ItemHandle, Login, Payload, PublishSpec, Publisher, PublisherConfig, PublisherEvent,
    RefreshHead, Server, ServiceSpec, Submissions, UpdateHead, fields,
};
use tapeline_omm::state::MessageApiText;
use tapeline_rwf::Real;

const INTERVAL: Duration = Duration::from_millis(100);

/// Bid (field 22) and ask (field 25), in hundredths.
fn quote(bid: i64) -> impl Payload {
    fields(move |list| {
        list.put(22, Real::decimal(bid, 2))?;
        list.put(25, Real::decimal(bid + 3, 2))
    })
}

fn open(
    submissions: &mut Submissions<'_>,
    service: &str,
    names: &[String],
    bid: i64,
) -> Result<Vec<ItemHandle>, ApiError> {
    let mut items = Vec::new();
    for name in names {
        let item = submissions.open(&PublishSpec::new(service, name))?;
        submissions.refresh(item, &RefreshHead::default(), &quote(bid))?;
        items.push(item);
    }
    Ok(items)
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut servers, mut names) = (Vec::<Server>::new(), Vec::new());
    let (mut user, mut service) = ("feed".to_owned(), "NI_FEED".to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--server" => servers.push(value()?.parse()?),
            "--user" => user = value()?,
            "--service" => service = value()?,
            _ => names.push(argument),
        }
    }
    let services = [ServiceSpec::new(1, service.as_str()).entry()];
    let config = PublisherConfig::new(servers, Login::new(user), services);
    let mut publisher = Publisher::new(config)?;
    let mut bid = 4500;
    let items = publisher.with(|submissions| open(submissions, &service, &names, bid))?;
    let mut next = Instant::now();
    loop {
        let wait = next.saturating_duration_since(Instant::now());
        let mut handler = |event: PublisherEvent<'_>, submissions: &mut Submissions<'_>| {
            match event {
                PublisherEvent::Up { server } => println!("connected to server {server}"),
                PublisherEvent::Down { reason, .. } => println!("down: {reason}"),
                PublisherEvent::Login { state, .. } => println!("login: {}", MessageApiText(state)),
                // There were updates since the image that was submitted again.
                PublisherEvent::RefreshWanted { item } => {
                    let sent = submissions.refresh(item, &RefreshHead::default(), &quote(bid));
                    sent.err().into_iter().for_each(|error| println!("not sent: {error}"));
                }
                _ => {}
            }
        };
        publisher.poll(Some(wait), &mut handler);
        if Instant::now() >= next {
            next += INTERVAL;
            bid += 1;
            publisher.with(|submissions| {
                for item in &items {
                    // Without a connection there is nobody to tell.
                    let _ = submissions.update(*item, &UpdateHead::QUOTE, &quote(bid));
                }
            });
        }
    }
}
