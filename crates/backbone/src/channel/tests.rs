use super::*;

/// The first channel, where it is the only one on one network.
const ONLY: PathId = PathId { channel: 0, network: 0 };

fn all_streams(text: &str, role: Role) -> Vec<(PathId, Streams)> {
    streams_with(text, role, &EngineSettings::default())
}

const BUFFERS: Buffers = Buffers { receive_bytes: 2000, window_bytes: 1000, send_bytes: 3000 };

fn streams_with(text: &str, role: Role, settings: &EngineSettings) -> Vec<(PathId, Streams)> {
    Channels::parse(text).unwrap().streams(role, settings, BUFFERS)
}

fn streams(text: &str, role: Role) -> Streams {
    let [(ONLY, ref streams)] = all_streams(text, role)[..] else { panic!("one way: {text}") };
    streams.clone()
}

fn problem(text: &str) -> String {
    Channels::parse(text).unwrap_err().to_string()
}

/// What a role sends, the other one receives: the same stream at the same
/// place.
fn meets(text: &str) {
    for role in [Role::Hub, Role::Server] {
        let from = streams(text, role).publication;
        let to = streams(text, role.other()).subscription;
        assert_eq!(from.id, to.id, "{text}");
    }
    let hub = streams(text, Role::Hub);
    assert_ne!(hub.publication.id, hub.subscription.id, "{text}");
}

#[test]
fn shared_memory() {
    let hub = streams("aeron:ipc", Role::Hub);
    assert_eq!(hub.publication.uri, "aeron:ipc?mtu=8192|term-length=16777216");
    assert_eq!(hub.publication.id, 1001);
    assert_eq!(hub.subscription.uri, "aeron:ipc?tether=false|rejoin=true");
    assert_eq!(hub.subscription.id, 1002);
    assert_eq!(hub.max_message_bytes, 2 << 20);
    assert_eq!(streams("aeron:ipc", Role::Server).max_message_bytes, 512 << 10);
    meets("aeron:ipc");
    assert!(!Channels::parse("aeron:ipc").unwrap().is_network());
}

#[test]
fn multicast() {
    let text = "aeron:udp?endpoint=224.0.1.1:40456|interface=127.0.0.1|ttl=4";
    let hub = streams(text, Role::Hub);
    assert_eq!(
        hub.publication.uri,
        "aeron:udp?endpoint=224.0.1.1:40456|interface=127.0.0.1|ttl=4|fc=max|mtu=1408|term-length=16777216|so-sndbuf=3000"
    );
    assert_eq!(
        hub.subscription.uri,
        "aeron:udp?endpoint=224.0.1.1:40457|interface=127.0.0.1|tether=false|rejoin=true|so-rcvbuf=2000|rcv-wnd=1000"
    );
    let server = streams(text, Role::Server);
    assert!(server.publication.uri.contains("endpoint=224.0.1.1:40457|"));
    assert!(server.subscription.uri.contains("endpoint=224.0.1.1:40456|"));
    meets(text);
    assert!(Channels::parse(text).unwrap().is_network());
}

#[test]
fn a_channel_that_says_no_ttl_has_that_of_the_settings() {
    let settings = EngineSettings { ttl: Some(5), ..EngineSettings::default() };
    for (text, expected) in [
        ("aeron:udp?endpoint=224.0.1.1:40456|ttl=4", Some("|ttl=4|")),
        ("aeron:udp?endpoint=224.0.1.1:40456", Some("|ttl=5|")),
        // It means nothing where datagrams go to one host.
        ("aeron:udp?control=hub-a:41000", None),
        ("aeron:ipc", None),
    ] {
        for role in [Role::Hub, Role::Server] {
            let uri = &streams_with(text, role, &settings)[0].1.publication.uri;
            assert_eq!(uri.contains("ttl"), expected.is_some(), "{uri}");
            assert!(uri.contains(expected.unwrap_or("")), "{uri}");
        }
    }
}

#[test]
fn unicast() {
    let text = "aeron:udp?control=hub-a:41000|interface=10.0.0.7/24|fc=min";
    let hub = streams(text, Role::Hub);
    assert!(
        hub.publication
            .uri
            .starts_with("aeron:udp?control=hub-a:41000|control-mode=dynamic|fc=min|mtu=1408|")
    );
    assert!(hub.subscription.uri.starts_with("aeron:udp?endpoint=hub-a:41001|tether"));
    let server = streams(text, Role::Server);
    assert!(
        server
            .publication
            .uri
            .starts_with("aeron:udp?endpoint=hub-a:41001|interface=10.0.0.7/24|mtu")
    );
    assert!(server.subscription.uri.starts_with(
        "aeron:udp?endpoint=10.0.0.7:0|control=hub-a:41000|control-mode=dynamic|tether"
    ));
    meets(text);
    let anywhere = streams("aeron:udp?control=[fe80::1]:41000", Role::Server);
    assert!(anywhere.subscription.uri.contains("endpoint=[::]:0|control=[fe80::1]:41000"));
    let anywhere = streams("aeron:udp?control=hub-a:41000", Role::Server);
    assert!(anywhere.subscription.uri.contains("endpoint=0.0.0.0:0|control=hub-a:41000"));
}

#[test]
fn a_server_reaches_all_hubs_and_a_hub_is_the_first() {
    let text = "aeron:udp?control=hub-a:41000,hub-b:42000|interface=10.0.0.7";
    let server = all_streams(text, Role::Server);
    assert_eq!(server.len(), 2);
    for ((path, streams), hub) in server.iter().zip(["hub-a:41", "hub-b:42"]) {
        assert_eq!(*path, ONLY);
        assert!(streams.publication.uri.contains(&format!("endpoint={hub}001|")));
        assert!(streams.subscription.uri.contains(&format!("control={hub}000|")));
    }
    let hub = streams(text, Role::Hub);
    assert!(hub.publication.uri.contains("control=hub-a:41000|"), "{}", hub.publication.uri);
    assert!(hub.subscription.uri.contains("endpoint=hub-a:41001|"));
}

#[test]
fn networks_carry_the_same() {
    let text = "aeron:udp?endpoint=239.1.1.1:4000|interface=10.1.0.0/24 \
                aeron:udp?control=h:5000,i:5000|interface=10.2.0.0/24";
    assert_eq!(paths(text, Role::Hub), [(0, 0), (0, 1)]);
    assert_eq!(paths(text, Role::Server), [(0, 0), (0, 1), (0, 1)]);
    let channels = Channels::parse(text).unwrap();
    assert!(channels.is_network() && !channels.are_several());
}

/// Channel and network of each way.
fn paths(text: &str, role: Role) -> Vec<(usize, usize)> {
    let path = |(path, _): &(PathId, Streams)| (path.channel, path.network);
    all_streams(text, role).iter().map(path).collect()
}

#[test]
fn a_server_is_on_all_channels_and_a_hub_on_the_first() {
    let text = "aeron:udp?endpoint=239.1.1.1:4000 aeron:udp?endpoint=239.2.1.1:4000 \
                + aeron:udp?control=h:5000,i:5000 + aeron:ipc";
    let server = [(0, 0), (0, 1), (1, 0), (1, 0), (2, 0)];
    assert_eq!(paths(text, Role::Server), server);
    assert_eq!(paths(text, Role::Hub), [(0, 0), (0, 1)]);
    let channels = Channels::parse(text).unwrap();
    assert!(channels.is_network() && channels.are_several());
}

#[test]
fn parameters_of_the_channel_go_before_the_settings() {
    let hub = streams("aeron:ipc?mtu=4096|term-length=65536|stream-id=7", Role::Hub);
    assert_eq!(hub.publication.uri, "aeron:ipc?mtu=4096|term-length=65536");
    assert_eq!((hub.publication.id, hub.subscription.id), (7, 8));
    assert_eq!(hub.max_message_bytes, 8192);
}

#[test]
fn the_text_is_kept() {
    let text = "aeron:udp?endpoint=239.1.2.3:4000";
    assert_eq!(Channels::parse(text).unwrap().to_string(), text);
    assert_eq!(text.parse::<Channels>().unwrap(), Channels::parse(text).unwrap());
}

#[test]
fn what_is_wrong_is_named() {
    let cases = [
        ("", "must begin with"),
        ("udp://239.1.1.1:4000", "must begin with"),
        ("aeron:ipc?endpoint=239.1.1.1:4000", "neither"),
        ("aeron:udp", "either endpoint=GROUP:PORT"),
        ("aeron:udp?", "either endpoint=GROUP:PORT"),
        ("aeron:udp?endpoint=239.1.1.1:4000|control=h:4000", "either"),
        ("aeron:udp?endpoint=239.1.1.2:4000", "must be odd"),
        ("aeron:udp?endpoint=10.1.1.1:4000", "no multicast address"),
        ("aeron:udp?endpoint=hub-a:4000", "no multicast address"),
        ("aeron:udp?endpoint=239.1.1.1", "not HOST:PORT"),
        ("aeron:udp?endpoint=239.1.1.1:99999", "not HOST:PORT"),
        ("aeron:udp?control=fe80::1:4000", "not HOST:PORT"),
        ("aeron:udp?control=:4000", "not HOST:PORT"),
        ("aeron:udp?control=h:65535", "from 1 to 65534"),
        ("aeron:udp?control=h:0", "from 1 to 65534"),
        ("aeron:udp?control=h:1|interface=eth0", "address of a network interface"),
        ("aeron:udp?control=h:1|interface=10.0.0.1/x", "address of a network interface"),
        ("aeron:udp?control=h:1|ttl=256", "from 0 to 255"),
        ("aeron:ipc?mtu=1400", "multiple of 32"),
        ("aeron:ipc?term-length=16m", "power of two"),
        ("aeron:ipc?fc=fast", "max, min or tagged"),
        ("aeron:ipc?stream-id=0", "from 1"),
        ("aeron:ipc?reliable=false", "none of endpoint"),
        ("aeron:ipc?mtu", "not key=value"),
        ("aeron:udp?control=h:4000,h:4000", "named twice"),
        ("aeron:udp?control=h:4000,", "not HOST:PORT"),
        ("aeron:ipc aeron:udp?control=h:4000", "no network beside others"),
        ("aeron:udp?control=h:4000 +", "must begin with"),
        ("aeron:udp?control=h:4000 + aeron:ipc + aeron:udp?control=h:4000", "channel 3 is one of"),
    ];
    for (text, expected) in cases {
        let problem = problem(text);
        assert!(problem.contains(expected), "{text}: {problem}");
        assert!(problem.contains(&format!("'{text}'")), "{problem}");
    }
}
