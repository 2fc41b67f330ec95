//! A hub, a server, and a consumer that knows the three books of one item.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::time::Duration;

use tapeline_api::{
    Consumer, ConsumerConfig, ConsumerEvent, Handle, ItemSpec, Login, Requests, Server,
};
use tapeline_backbone::{Carrier, PortSettings, Role};
use tapeline_channel::Idle;
use tapeline_hub::HubConfig;
use tapeline_node::{HubPart, NewPolicy, Node, NodeConfig, ServerPart};
use tapeline_omm::market::Book;
use tapeline_rwf::{DataState, DataType, Domain, Encoded, MapAction, StreamState};
use tapeline_server::ServerConfig;

pub(crate) const SERVICE: &str = "EXCHANGE";
const DOMAINS: [Domain; 3] =
    [Domain::MARKET_BY_ORDER, Domain::MARKET_BY_PRICE, Domain::MARKET_PRICE];

/// Rows by key, each with its fields as texts; a quote is one row.
pub(crate) type Rows = BTreeMap<Vec<u8>, BTreeMap<i16, String>>;

/// What the consumer knows.
pub(crate) struct Watching {
    item: &'static str,
    handles: Vec<Handle>,
    pub(crate) rows: [Rows; DOMAINS.len()],
    pub(crate) states: [Option<(StreamState, DataState)>; DOMAINS.len()],
    pub(crate) suspects: usize,
}

fn texts(list: &tapeline_rwf::FieldList<'_>) -> BTreeMap<i16, String> {
    let dictionary = tapeline_omm::dictionary::FieldDictionary::builtin();
    let fields = list.iter().map(|field| field.expect("a field"));
    let text = |field: tapeline_rwf::FieldEntry<'_>| {
        let kind = dictionary.field(field.field_id).expect("is defined").rwf_type;
        let text = match field.primitive(kind).expect("a value") {
            tapeline_rwf::Primitive::Real(real) => real.to_string(),
            tapeline_rwf::Primitive::Rmtes(text) => String::from_utf8_lossy(text).into_owned(),
            other => format!("{other:?}"),
        };
        (field.field_id, text)
    };
    fields.map(text).collect()
}

impl Watching {
    pub(crate) fn of(item: &'static str) -> Self {
        Self {
            item,
            handles: Vec::new(),
            rows: Default::default(),
            states: [None; DOMAINS.len()],
            suspects: 0,
        }
    }

    /// All three are open and good.
    pub(crate) fn is_good(&self) -> bool {
        self.states == [Some((StreamState::OPEN, DataState::OK)); DOMAINS.len()]
    }

    /// A turn of the consumer.
    pub(crate) fn turn(&mut self, consumer: &mut Consumer) {
        consumer.poll(
            Some(Duration::ZERO),
            &mut |event: ConsumerEvent<'_>, requests: &mut Requests<'_>| {
                self.event(&event, requests);
            },
        );
    }

    fn apply(&mut self, at: usize, payload: &Encoded<'_>, is_image: bool) {
        if is_image {
            self.rows[at].clear();
        }
        if payload.data_type() == DataType::FIELD_LIST {
            let list = payload.field_list().expect("fields");
            self.rows[at].entry(Vec::new()).or_default().extend(texts(&list));
            return;
        }
        for row in Book::decode(payload).expect("a book").rows() {
            let row = row.expect("a row");
            match row.action {
                MapAction::DELETE => drop(self.rows[at].remove(row.key.bytes())),
                _ => {
                    let fields = texts(&row.fields().expect("fields"));
                    self.rows[at].entry(row.key.bytes().to_vec()).or_default().extend(fields);
                }
            }
        }
    }

    fn event(&mut self, event: &ConsumerEvent<'_>, requests: &mut Requests<'_>) {
        let place = |watching: &Self, handle| {
            watching.handles.iter().position(|known| *known == handle).expect("is open")
        };
        match event {
            ConsumerEvent::Ready if self.handles.is_empty() => {
                for domain in DOMAINS {
                    let spec = ItemSpec { domain, ..ItemSpec::new(SERVICE, self.item) };
                    self.handles.push(requests.open(&spec).expect("room"));
                }
            }
            ConsumerEvent::Refresh { handle, msg } => {
                let at = place(self, *handle);
                self.note(at, &msg.state);
                self.apply(at, &msg.payload, true);
            }
            ConsumerEvent::Update { handle, msg } => {
                self.apply(place(self, *handle), &msg.payload, false);
            }
            ConsumerEvent::Status { handle, msg } => {
                if let Some(state) = &msg.state {
                    self.note(place(self, *handle), state);
                }
            }
            _ => {}
        }
    }

    fn note(&mut self, at: usize, state: &tapeline_rwf::State<'_>) {
        self.states[at] = Some((state.stream, state.data));
        self.suspects += usize::from(state.data == DataState::SUSPECT);
    }
}

/// A hub and a server on one thread.
pub(crate) fn node() -> Node {
    let mut hub = HubConfig::named("hub");
    hub.ni_listen = Some((Ipv4Addr::LOCALHOST, 0).into());
    let port = PortSettings::new(Role::Hub, "hub");
    let hub = HubPart { config: hub, port, field_rules: None, edge: None };
    let server = ServerPart {
        config: ServerConfig {
            listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            ..ServerConfig::default()
        },
        port: PortSettings::new(Role::Server, "server"),
        policy: NewPolicy::default(),
        edge: None,
        siblings: None,
    };
    let idle = Idle::Park { micros: 1 };
    let (hubs, servers) = (vec![hub], vec![server]);
    let node = NodeConfig { hubs, servers, idle, ..NodeConfig::on(Carrier::LOCAL) };
    Node::start(node).expect("it starts")
}

/// A consumer of its server.
pub(crate) fn consumer(node: &Node) -> Consumer {
    let at = node.servers().next().expect("a server").listening()[0];
    let server = Server::new(at.ip().to_string(), at.port());
    Consumer::new(ConsumerConfig::new([server], Login::new("user"))).expect("sockets")
}
