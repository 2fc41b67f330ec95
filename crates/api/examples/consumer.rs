//! Asks for items, and prints what happens to them by the names of the
//! dictionary.
//!
//! ```text
//! cargo run -p tapeline-api --example consumer -- \
//!     --server localhost:14002 --user me --service FEED TRI.N IBM.N
//! ```
//!
//! `--server` may be given several times: when one goes away, the next is
//! tried, and the items go on where they were.

use std::error::Error;

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, DictionarySource, Handle, ItemSpec, Login, Requests,
    Server,
};
use tapeline_omm::state::MessageApiText;
use tapeline_rwf::{Encoded, Primitive};

/// Prints the fields of a payload, one line each.
fn print(payload: &Encoded<'_>, requests: &Requests<'_>) -> Result<(), Box<dyn Error>> {
    let Some(dictionary) = requests.dictionary() else { return Ok(()) };
    for entry in &payload.field_list()? {
        let entry = entry?;
        // A field that the dictionary does not know cannot be read.
        let Some(field) = dictionary.field(entry.field_id) else { continue };
        let value = match entry.typed(field.rwf_type).primitive()? {
            Primitive::Real(real) => real.to_string(),
            Primitive::Ascii(text) | Primitive::Utf8(text) | Primitive::Rmtes(text) => {
                String::from_utf8_lossy(text).into_owned()
            }
            other => format!("{other:?}"),
        };
        println!("    {:<12} {value}", field.acronym);
    }
    Ok(())
}

fn name(handle: Handle, requests: &Requests<'_>) -> String {
    requests.item(handle).map_or_else(String::new, |item| item.name.to_string())
}

fn show(event: ConsumerEvent<'_>, requests: &mut Requests<'_>) {
    let printed = match event {
        ConsumerEvent::Down { server, reason, .. } => {
            println!("server {server} is down: {reason}");
            Ok(())
        }
        ConsumerEvent::Login { state, .. } => {
            println!("login: {}", MessageApiText(state));
            Ok(())
        }
        ConsumerEvent::Refresh { handle, msg } => {
            println!("{}: image, {}", name(handle, requests), MessageApiText(msg.state));
            print(&msg.payload, requests)
        }
        ConsumerEvent::Update { handle, msg } => {
            println!("{}: update, {}", name(handle, requests), msg.update_type);
            print(&msg.payload, requests)
        }
        ConsumerEvent::Status { handle, msg } => {
            if let Some(state) = msg.state {
                println!("{}: {}", name(handle, requests), MessageApiText(state));
            }
            Ok(())
        }
        _ => Ok(()),
    };
    if let Err(error) = printed {
        println!("    cannot be read: {error}");
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (mut servers, mut items) = (Vec::<Server>::new(), Vec::new());
    let (mut user, mut service) = ("user".to_owned(), "FEED".to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
        match argument.as_str() {
            "--server" => servers.push(value()?.parse()?),
            "--user" => user = value()?,
            "--service" => service = value()?,
            _ => items.push(argument),
        }
    }
    let mut config = ConsumerConfig::new(servers, Login::new(user));
    config.dictionary = DictionarySource::Download;
    let mut consumer = Consumer::new(config)?;
    for item in &items {
        consumer.open(&ItemSpec::new(service.as_str(), item))?;
    }
    loop {
        consumer.poll(None, &mut show);
    }
}
