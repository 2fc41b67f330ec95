//! TLS towards others: whom a client believes, and certificates that are replaced.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use tapeline_channel::{
    ConnectConfig, ListenConfig, Sent, Tls, TlsClient, TlsClientFiles, TlsFiles,
};

use crate::support::World;

/// An authority, with a folder for what it signs.
struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
    folder: tempfile::TempDir,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer, folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    fn ca(&self) -> PathBuf {
        self.file("ca.pem", &self.issuer.as_ref().pem())
    }

    /// A certificate for a name, and its key, in files of this stem.
    fn signed(&self, stem: &str, name: &str) -> (PathBuf, PathBuf) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        let certificate = self.file(&format!("{stem}.pem"), &certificate.pem());
        (certificate, self.file(&format!("{stem}.key"), &key.serialize_pem()))
    }

    fn server(&self, name: &str, client_ca: Option<PathBuf>) -> Tls {
        let (certificates, key) = self.signed("server", name);
        Tls::from_files(TlsFiles { certificates, key, client_ca }).unwrap()
    }

    fn client(&self, identity: Option<(PathBuf, PathBuf)>) -> TlsClient {
        TlsClient::from_files(TlsClientFiles { ca: self.ca(), identity }).unwrap()
    }
}

fn listening(tls: &Tls) -> World {
    World::new(&ListenConfig { tls: Some(tls.clone()), ..ListenConfig::default() })
}

fn connect(tls: &TlsClient) -> ConnectConfig {
    ConnectConfig { tls: Some(tls.clone()), ..ConnectConfig::default() }
}

/// Why a connection comes to nothing.
fn failure(world: &mut World, config: &ConnectConfig) -> String {
    let before = world.client.closed().len();
    world.connect(config);
    world.run_until(|world| world.client.closed().len() > before);
    world.client.closed().pop().unwrap().1
}

#[test]
fn messages_of_every_size_go_both_ways() {
    let authority = Authority::new();
    let mut world = listening(&authority.server("127.0.0.1", None));
    let (client, server) = world.open(&connect(&authority.client(None)));
    let messages: Vec<Vec<u8>> =
        [1, 300, 6_144, 16_384, 70_000, 600_000].map(|count| vec![7; count]).into();
    for message in &messages {
        let sent = world.client.reactor.outbox().send(client, message);
        assert!(matches!(sent, Sent::Queued | Sent::Slow), "{sent:?}");
        let sent = world.server.reactor.outbox().send(server, message);
        assert!(matches!(sent, Sent::Queued | Sent::Slow), "{sent:?}");
    }
    let count = messages.len();
    world.run_until(|world| {
        world.client.messages().len() == count && world.server.messages().len() == count
    });
    assert_eq!(world.client.messages(), messages);
    assert_eq!(world.server.messages(), messages);
}

#[test]
fn a_server_of_another_authority_or_of_another_name_is_not_spoken_to() {
    let (authority, other) = (Authority::new(), Authority::new());
    let mut world = listening(&authority.server("feed.example", None));
    let named = authority.client(None).named("feed.example").unwrap();
    world.open(&connect(&named));
    let why = failure(&mut world, &connect(&authority.client(None)));
    assert!(why.contains("certificate not valid for name"), "{why}");
    let stranger = other.client(None).named("feed.example").unwrap();
    let why = failure(&mut world, &connect(&stranger));
    assert!(why.contains("invalid peer certificate"), "{why}");
    assert_eq!(world.server.opened().len(), 1, "it heard nothing of them");
}

#[test]
fn what_comes_behind_our_end_of_a_handshake_is_for_nobody() {
    let authority = Authority::new();
    let mut world = listening(&authority.server("feed.example", None));
    let client = connect(&authority.client(None));
    // At each step of it, up to the certificate that is of another name.
    for polls in 0..20 {
        let session = world.connect(&client);
        (0..polls).for_each(|_| world.poll());
        let now = world.now();
        world.client.reactor.outbox().close(session, "bye");
        world.client.poll(now);
        (0..20).for_each(|_| _ = world.server.poll(now));
        (0..20).for_each(|_| world.poll());
    }
    assert!(world.client.opened().is_empty());
}

#[test]
fn nothing_goes_in_clear_to_a_server_without_tls() {
    let authority = Authority::new();
    let mut world = World::new(&ListenConfig::default());
    let mut config = connect(&authority.client(None));
    // Not even with an older generation of the protocol.
    config.fallback = true;
    failure(&mut world, &config);
    assert_eq!(world.server.opened(), []);
    assert_eq!(world.client.opened(), []);
}

#[test]
fn clients_that_have_to_show_a_certificate_show_it_or_are_turned_away() {
    let authority = Authority::new();
    let mut world = listening(&authority.server("127.0.0.1", Some(authority.ca())));
    let identity = Some(authority.signed("client", "desk.example"));
    world.open(&connect(&authority.client(identity)));
    let why = failure(&mut world, &connect(&authority.client(None)));
    assert!(why.contains("CertificateRequired"), "{why}");
    let other = Authority::new();
    let identity = Some(other.signed("client", "desk.example"));
    let files = TlsClientFiles { ca: authority.ca(), identity };
    failure(&mut world, &connect(&TlsClient::from_files(files).unwrap()));
    assert_eq!(world.server.opened().len(), 1);
}

#[test]
fn certificates_are_read_again_for_the_sessions_that_follow() {
    let (old, new) = (Authority::new(), Authority::new());
    let tls = old.server("127.0.0.1", None);
    let mut world = listening(&tls);
    let client = old.client(None);
    let (before, _) = world.open(&connect(&client));
    // The files of the other authority take the place of the old ones.
    let (certificate, key) = new.signed("server", "127.0.0.1");
    fs::copy(&certificate, old.path("server.pem")).unwrap();
    let error = tls.reload().unwrap_err().to_string();
    assert!(error.starts_with("TLS: certificate and private key: "), "{error}");
    world.open(&connect(&client));
    fs::copy(&key, old.path("server.key")).unwrap();
    tls.reload().unwrap();
    let why = failure(&mut world, &connect(&client));
    assert!(why.contains("invalid peer certificate"), "{why}");
    fs::copy(new.ca(), old.path("ca.pem")).unwrap();
    client.reload().unwrap();
    world.open(&connect(&client));
    assert!(!world.client.closed().iter().any(|(closed, _)| *closed == before));
}

#[test]
fn what_is_wrong_with_a_file_is_told_with_its_name() {
    let authority = Authority::new();
    let empty = authority.file("empty.pem", "");
    let files = TlsClientFiles { ca: empty, identity: None };
    let error = TlsClient::from_files(files).unwrap_err().to_string();
    assert!(error.contains("empty.pem: no certificate is in it"), "{error}");
    let files = TlsClientFiles { ca: authority.path("none.pem"), identity: None };
    let error = TlsClient::from_files(files).unwrap_err().to_string();
    assert!(error.contains("none.pem: "), "{error}");
    let error = authority.client(None).named("a b").unwrap_err().to_string();
    assert!(error.contains("the server's name \"a b\""), "{error}");
}
