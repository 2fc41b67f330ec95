//! How many updates a second one provider thread and one consumer thread carry
//! over a loopback socket.
//!
//! ```text
//! cargo run --release -p tapeline-api --example throughput -- --items 1000 --seconds 5
//! ```

use std::time::{Duration, Instant};

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Flow, ItemSpec, Login, Provider, ProviderConfig,
    ProviderEvent, RefreshHead, Requests, Responses, Server, ServiceSpec, StreamHandle, UpdateHead,
    encode_update,
};
use tapeline_rwf::{Domain, Primitive, Real};

fn argument(name: &str, default: u64) -> u64 {
    let mut arguments = std::env::args().skip_while(|argument| argument != name).skip(1);
    arguments.next().and_then(|value| value.parse().ok()).unwrap_or(default)
}

fn quote(bid: i64) -> [(i16, Primitive<'static>); 4] {
    [
        (22, Real::decimal(bid, 2).into()),
        (25, Real::decimal(bid + 3, 2).into()),
        (30, Primitive::Uint(500)),
        (31, Primitive::Uint(700)),
    ]
}

/// Publishes as fast as the consumer reads, until it goes away.
fn publish(mut provider: Provider, items: usize) {
    let mut streams: Vec<StreamHandle> = Vec::new();
    let (mut buffer, mut is_slow, mut is_over) = (Vec::new(), false, false);
    while !is_over {
        let wait = if is_slow || streams.len() < items { None } else { Some(Duration::ZERO) };
        let mut handler = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| match event {
            ProviderEvent::Request { stream, .. } => {
                streams.push(stream);
                responses.refresh(stream, &RefreshHead::default(), &quote(0)).expect("sent");
            }
            ProviderEvent::Drained { .. } => is_slow = false,
            ProviderEvent::Disconnected { .. } => is_over = true,
            _ => {}
        };
        provider.poll(wait, &mut handler);
        if is_slow || streams.len() < items {
            continue;
        }
        let head = UpdateHead::QUOTE;
        let len = encode_update(&mut buffer, Domain::MARKET_PRICE, &head, &quote(4512));
        let update = &buffer[..len.expect("it fits")];
        is_slow = provider.with(|responses| {
            streams.iter().any(|stream| !matches!(responses.send(*stream, update), Ok(Flow::Free)))
        });
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let items = argument("--items", 1000);
    let time = Duration::from_secs(argument("--seconds", 5));
    let mut provider = Provider::new(ProviderConfig::new([ServiceSpec::new(1, "FEED").entry()]))?;
    let address = provider.listen("127.0.0.1:0".parse()?)?;
    let publisher = std::thread::spawn(move || publish(provider, items as usize));

    let server = Server::new(address.ip().to_string(), address.port());
    let mut consumer = Consumer::new(ConsumerConfig::new([server], Login::new("user")))?;
    for item in 0..items {
        consumer.open(&ItemSpec::new("FEED", &format!("ITEM{item}")))?;
    }
    let (mut updates, mut began) = (0_u64, None);
    while began.is_none_or(|began: Instant| began.elapsed() < time) {
        consumer.poll(None, &mut |event: ConsumerEvent<'_>, _: &mut Requests<'_>| {
            if matches!(event, ConsumerEvent::Update { .. }) {
                updates += 1;
                began.get_or_insert_with(Instant::now);
            }
        });
    }
    println!("{:.0} updates/s", updates as f64 / time.as_secs_f64());
    consumer.with(|requests| {
        requests.log_out();
    });
    consumer.poll(Some(Duration::ZERO), &mut |_: ConsumerEvent<'_>, _: &mut Requests<'_>| {});
    publisher.join().map_err(|_| "the provider failed")?;
    Ok(())
}
