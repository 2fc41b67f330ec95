//! A recorded session of the vendor's consumer and provider (EMA, Java
//! edition): each side of it is played to ours.

use std::sync::Arc;

use serde_json::Value;
use tapeline_api::{
    ConsumerConfig, ConsumerCore, ConsumerEvent, ConsumerInput, ConsumerOutputs, DictionarySource,
    Handle, ItemSpec, Login, PostHead, ProviderConfig, ProviderCore, ProviderEvent, ProviderInput,
    ProviderOutputs, RefreshHead, Requests, Responses, Server, ServiceSpec,
};
use tapeline_channel::{Sent, SessionId};
use tapeline_golden::{unhex, vectors};
use tapeline_omm::dictionary::FieldDictionary;
use tapeline_omm::state::MessageApiText;
use tapeline_rwf::{DataType, Domain, Encoded, Msg, MsgClass, MsgHeader, Primitive, Real};
use tapeline_time::Time;

/// The messages of one side, in order. Those that were recorded in short form
/// are taken from their frame; the one that was sent in fragments is left out.
fn messages(direction: &str) -> Vec<Vec<u8>> {
    const FRAME_HEAD: usize = 3;
    let frames = vectors("transport_ema-socket-none");
    let side = frames.iter().filter(|frame| frame["direction"] == direction);
    side.flat_map(|frame| {
        let bytes = unhex(frame["hex"].as_str().expect("bytes"));
        let messages = frame["messages"].as_array().cloned().unwrap_or_default();
        messages.into_iter().filter_map(move |message| match &message["hex"] {
            Value::String(hex) => Some(unhex(hex)),
            _ if message["length"] == bytes.len() - FRAME_HEAD => Some(bytes[FRAME_HEAD..].into()),
            _ => None,
        })
    })
    .collect()
}

/// What was sent, by class and stream.
#[derive(Default)]
struct Wire(Vec<Vec<u8>>);

impl Wire {
    fn note(&mut self, message: &[u8]) -> Sent {
        self.0.push(message.to_vec());
        Sent::Queued
    }

    fn classes(&mut self) -> Vec<(MsgClass, i32)> {
        let sent = core::mem::take(&mut self.0);
        let head = |bytes: &Vec<u8>| MsgHeader::decode(bytes).expect("a message");
        sent.iter().map(head).map(|head| (head.class, head.stream_id)).collect()
    }
}

impl ConsumerOutputs for Wire {
    fn connect(&mut self, _: usize) {}

    fn send(&mut self, message: &[u8]) -> Sent {
        self.note(message)
    }

    fn disconnect(&mut self, reason: &str) {
        panic!("disconnected: {reason}");
    }
}

impl ProviderOutputs for Wire {
    fn send(&mut self, _: SessionId, message: &[u8]) -> Sent {
        self.note(message)
    }

    fn send_on(&mut self, _: SessionId, _: i32, message: &[u8]) -> Sent {
        self.note(message)
    }

    fn close(&mut self, _: SessionId, _: &str) {}
}

fn in_words(event: ConsumerEvent<'_>) -> Option<String> {
    let index = |handle: Handle| handle.index();
    Some(match event {
        ConsumerEvent::Login { state, .. } => format!("login {}", MessageApiText(state)),
        ConsumerEvent::Directory { changes } => format!("{} services", changes.len()),
        ConsumerEvent::Dictionary { dictionary } => {
            format!("{} fields", dictionary.fields().len())
        }
        ConsumerEvent::Ready => "ready".to_owned(),
        ConsumerEvent::Refresh { handle, msg } => {
            format!("{} image {}", index(handle), MessageApiText(msg.state))
        }
        ConsumerEvent::Update { handle, .. } => format!("{} update", index(handle)),
        ConsumerEvent::Status { handle, msg } => {
            format!("{} status {}", index(handle), MessageApiText(msg.state?))
        }
        ConsumerEvent::Generic { handle, .. } => format!("{} generic", handle.map_or(99, index)),
        ConsumerEvent::Ack { msg, .. } => format!("ack {}", msg.ack_id),
        ConsumerEvent::Up { .. }
        | ConsumerEvent::Down { .. }
        | ConsumerEvent::Active { .. }
        | ConsumerEvent::LeftOut { .. } => return None,
    })
}

#[test]
fn our_consumer_understands_the_vendors_provider() {
    let servers = [Server::new("ema", 14002)];
    let config = ConsumerConfig {
        dictionary: DictionarySource::Download,
        ..ConsumerConfig::new(servers, Login::new("user1"))
    };
    let (mut core, mut wire, mut told) = (ConsumerCore::new(config), Wire::default(), Vec::new());
    let now = Time::ZERO;
    let mut requests = core.requests(now, &mut wire);
    let item = requests.open(&ItemSpec::new("DIRECT_FEED", "TRI.N")).expect("room");
    let book = ItemSpec::new("DIRECT_FEED", "AAPL.O").domain(Domain::MARKET_BY_ORDER);
    requests.open(&book).expect("room");
    let mut has_posted = false;
    let mut note = |event: ConsumerEvent<'_>, requests: &mut Requests<'_>| {
        told.extend(in_words(event));
        if matches!(event, ConsumerEvent::Update { .. }) && !has_posted {
            has_posted = true;
            // As the recorded post, which the recorded ack repeats.
            let head = PostHead { seq_num: Some(1), ..PostHead::default() };
            let content = Encoded::new(DataType::FIELD_LIST, &[]);
            assert_eq!(requests.post(item, &head, &content).ok(), Some(1));
        }
    };
    core.handle_timeout(now, &mut wire, &mut note);
    core.handle(now, ConsumerInput::Opened, &mut wire, &mut note);
    for message in messages("server->client") {
        core.handle(now, ConsumerInput::Message(&message), &mut wire, &mut note);
    }
    assert_eq!(core.malformed_messages(), 0);
    let updates = told.iter().filter(|told| told.as_str() == "0 update").count();
    told.retain(|told| told != "0 update");
    assert_eq!(
        told,
        [
            "login Open / Ok / None / 'Login accepted'",
            "1 services",
            "28 fields",
            "ready",
            "0 image Open / Ok / None / 'All is well'",
            "ack 1",
            "0 generic",
            "0 image Open / Ok / None / 'Reissued'",
            "0 status Open / Suspect / NoResources / 'Source stale'",
        ]
    );
    assert_eq!(updates, 8);
    let (request, post) = (MsgClass::Request, MsgClass::Post);
    let expected = [(request, 1), (request, 2), (request, 3), (request, 4), (request, 5)];
    let sent = wire.classes();
    assert_eq!(sent[..5], expected);
    assert_eq!(sent[5..], [(request, 6), (post, 5)]);
}

fn quote() -> [(i16, Primitive<'static>); 1] {
    [(22, Real::decimal(4512, 2).into())]
}

#[test]
fn our_provider_understands_the_vendors_consumer() {
    const CLIENT: SessionId = SessionId { index: 0, generation: 0 };
    let feed = ServiceSpec::new(1, "DIRECT_FEED").domain(Domain::MARKET_BY_ORDER);
    let dictionary = Arc::new(FieldDictionary::builtin().clone());
    let config = ProviderConfig::new([feed.entry()]).dictionary(dictionary);
    let (mut core, mut wire, mut told) = (ProviderCore::new(config), Wire::default(), Vec::new());
    let mut answer = |event: ProviderEvent<'_>, responses: &mut Responses<'_>| {
        told.push(match event {
            ProviderEvent::LoggedIn { request, .. } => format!("login {}", request.user_name),
            ProviderEvent::Request { stream, request, .. } => {
                responses.refresh(stream, &RefreshHead::default(), &quote()).expect("sent");
                let name = String::from_utf8_lossy(request.key.name.unwrap_or_default());
                format!("{} {name}", request.domain)
            }
            ProviderEvent::Reissue { stream, wants_image, .. } => {
                responses.refresh(stream, &RefreshHead::default(), &quote()).expect("sent");
                format!("reissue, image {wants_image}")
            }
            ProviderEvent::Post { receipt, stream, post, .. } => {
                responses.ack(receipt).expect("sent");
                let is_msg = matches!(post.content, tapeline_omm::post::PostContent::Msg(_));
                format!("post on stream {}, a message {is_msg}", stream.is_some())
            }
            ProviderEvent::Generic { stream, msg, .. } => {
                let name = msg.key.and_then(|key| key.name).unwrap_or_default();
                format!("generic {} {}", stream.is_some(), String::from_utf8_lossy(name))
            }
            ProviderEvent::Close { .. } => "close".to_owned(),
            _ => return,
        });
    };
    core.handle(ProviderInput::Opened(CLIENT), &mut wire, &mut answer);
    for message in messages("client->server") {
        core.handle(ProviderInput::Message(CLIENT, &message), &mut wire, &mut answer);
    }
    assert_eq!(core.malformed_messages(), 0);
    assert_eq!(
        told,
        [
            "login user1",
            "MARKET_PRICE TRI.N",
            "MARKET_BY_ORDER AAPL.O",
            "post on stream true, a message true",
            "generic true genericMsg",
            "reissue, image true",
            "close",
            "close",
        ]
    );
    let sent = core::mem::take(&mut wire.0);
    // The vendor's consumer wants the key in every response.
    let item = sent.iter().map(|bytes| Msg::decode(bytes).expect("a message"));
    let images: Vec<_> = item.filter(|msg| msg.stream_id() == 5).collect();
    assert!(images.iter().filter(|msg| msg.class() == MsgClass::Refresh).all(|msg| {
        msg.key().is_some_and(|key| key.service_id == Some(1) && key.name == Some(b"TRI.N"))
    }));
    assert_eq!(images.len(), 3, "two images and an ack");
}
