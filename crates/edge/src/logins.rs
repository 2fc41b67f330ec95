//! Who logs in: questions of hubs and servers, answered by published keys and by an
//! authoriser over HTTP.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, channel, sync_channel,
};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tapeline_entitle::{LoginAnswer, LoginPort, LoginQuestion};
use tapeline_identity::{Authoriser, FetchedKeys, Identifier, Step, Tokens};

use crate::EdgeError;
use crate::http::{Fetcher, FetcherError};
use crate::policy_file::unix_ms;

/// So many questions of a hub or server may wait here. One more is answered at once
/// that it is to come again.
const QUESTIONS: usize = 1024;

/// How often it looks whether there are questions.
const LOOK: Duration = Duration::from_millis(20);

/// Requests to the authoriser that are under way at a time.
const MAX_CALLS: usize = 16;

/// An authoriser that did not answer is not asked again for so long.
const PAUSE: Duration = Duration::from_secs(1);

/// Where published keys are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySource {
    /// A file.
    File(PathBuf),
    /// A document of a web server.
    Url(String),
}

impl KeySource {
    /// Reads what a configuration says: an address of HTTP, or a path.
    pub fn of(text: &str) -> Self {
        match text.starts_with("http://") || text.starts_with("https://") {
            true => Self::Url(text.to_owned()),
            false => Self::File(text.into()),
        }
    }
}

/// Who is asked about logins, and how.
#[derive(Clone, Debug)]
pub struct LoginConfig {
    /// How tokens are taken, and where their keys are.
    pub tokens: Option<(Tokens, KeySource)>,
    /// A file in which the last keys of a URL are kept, for a start without it.
    pub keys_copy: Option<PathBuf>,
    /// How an authoriser is asked, and its URL.
    pub authoriser: Option<(Authoriser, String)>,
    /// How long a request may take.
    pub timeout: Duration,
    /// Certificates of the authorities that web servers are believed by.
    pub ca_file: PathBuf,
}

/// Identifies who logs in, for each hub and server of a process, on a thread of its own:
/// what has to wait for a web server holds up neither policies nor the journal.
#[derive(Debug)]
pub struct Logins {
    ports: Arc<Mutex<Vec<End>>>,
    is_over: Arc<AtomicBool>,
}

/// The edge's end of a port.
#[derive(Debug)]
struct End {
    questions: Receiver<LoginQuestion>,
    answers: Sender<LoginAnswer>,
}

impl Logins {
    /// Starts to answer the questions of logins.
    ///
    /// Errors: the certificates cannot be read; an address is not one that secrets may
    /// go to; there is no thread to be had.
    pub fn start(config: LoginConfig) -> Result<Self, EdgeError> {
        let urls = [
            config.tokens.as_ref().and_then(|(_, source)| match source {
                KeySource::Url(url) => Some(url.as_str()),
                KeySource::File(_) => None,
            }),
            config.authoriser.as_ref().map(|(_, url)| url.as_str()),
        ];
        let urls = urls.into_iter().flatten();
        let fetcher = Fetcher::new(urls, &config.ca_file, config.timeout)?;
        let ports: Arc<Mutex<Vec<End>>> = Arc::default();
        let is_over = Arc::new(AtomicBool::new(false));
        let (came, comes) = channel();
        let tokens = config.tokens.as_ref().map(|(tokens, _)| tokens.clone());
        let authoriser = config.authoriser.as_ref().map(|(authoriser, _)| authoriser.clone());
        let work = Work {
            ports: Arc::clone(&ports),
            identifier: Identifier::new(tokens, authoriser),
            keys: config.tokens.map(|(_, source)| source),
            copy: config.keys_copy,
            url: config.authoriser.map(|(_, url)| url).unwrap_or_default(),
            fetcher: Arc::new(fetcher),
            askers: BTreeMap::new(),
            next_number: 0,
            waiting: VecDeque::new(),
            came,
            asked: 0,
            health: Health::default(),
            has_keys: false,
        };
        let over = Arc::clone(&is_over);
        let thread = thread::Builder::new().name("logins".to_owned());
        thread.spawn(move || work.run(&comes, &over)).map_err(EdgeError::Thread)?;
        Ok(Self { ports, is_over })
    }

    /// A port for a hub or server.
    pub fn port(&self) -> LoginPort {
        let (sender, questions): (SyncSender<_>, _) = sync_channel(QUESTIONS);
        let (answer, answers) = channel();
        let end = End { questions, answers: answer };
        self.ports.lock().unwrap_or_else(PoisonError::into_inner).push(end);
        LoginPort { questions: sender, answers }
    }
}

impl Drop for Logins {
    /// The thread goes on for as long as one of its ports is there.
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

/// What came of a request.
enum Came {
    Keys(Result<Vec<u8>, FetcherError>),
    Opinion { number: u64, answer: Result<Vec<u8>, FetcherError> },
}

/// Whether the authoriser answers.
#[derive(Debug, Default)]
struct Health {
    /// When it is tried again, if it is down.
    down_until: Option<Instant>,
    /// Logins that were decided without it meanwhile.
    without: u64,
}

/// What the thread does.
struct Work {
    ports: Arc<Mutex<Vec<End>>>,
    identifier: Identifier,
    keys: Option<KeySource>,
    copy: Option<PathBuf>,
    url: String,
    fetcher: Arc<Fetcher>,
    /// Who asked, by the number here: the port and its own number.
    askers: BTreeMap<u64, (Sender<LoginAnswer>, u64)>,
    next_number: u64,
    /// Requests that wait for one of those under way to end.
    waiting: VecDeque<(u64, Vec<u8>)>,
    came: Sender<Came>,
    /// Requests to the authoriser that are under way.
    asked: usize,
    health: Health,
    has_keys: bool,
}

fn now_s() -> u64 {
    unix_ms() / 1000
}

impl Work {
    fn run(mut self, comes: &Receiver<Came>, is_over: &AtomicBool) {
        loop {
            match comes.recv_timeout(LOOK) {
                Ok(came) => self.take(came),
                // Somebody is always there to send: this is one of them.
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {}
            }
            let has_ports = self.hear();
            if !has_ports && is_over.load(Ordering::Relaxed) {
                return;
            }
            if let Some(step) = self.identifier.due(now_s()) {
                self.carry_out(vec![step]);
            }
        }
    }

    /// Has a request be made by a thread that waits for it.
    fn call(&self, request: impl FnOnce() -> Came + Send + 'static) {
        let came = self.came.clone();
        let thread = thread::Builder::new().name("login-request".to_owned());
        let spawned = thread.spawn(move || {
            // Whoever wanted it may be gone.
            let _ = came.send(request());
        });
        if let Err(error) = spawned {
            tracing::error!(%error, "a request cannot be made");
        }
    }

    /// Takes the questions that came. Whether there is anybody to ask any.
    fn hear(&mut self) -> bool {
        let mut asked = Vec::new();
        let mut ports = self.ports.lock().unwrap_or_else(PoisonError::into_inner);
        ports.retain(|end| {
            loop {
                match end.questions.try_recv() {
                    Ok(question) => asked.push((end.answers.clone(), question)),
                    Err(TryRecvError::Empty) => break true,
                    Err(TryRecvError::Disconnected) => break false,
                }
            }
        });
        let has_ports = !ports.is_empty();
        drop(ports);
        for (asker, question) in asked {
            let number = self.next_number;
            self.next_number += 1;
            self.askers.insert(number, (asker, question.number));
            let steps = self.identifier.question(now_s(), LoginQuestion { number, ..question });
            self.carry_out(steps);
        }
        has_ports
    }

    fn carry_out(&mut self, steps: Vec<Step>) {
        for step in steps {
            match step {
                Step::Answer(answer) => self.answer(answer),
                Step::FetchKeys => self.fetch_keys(),
                Step::Ask { number, body } => {
                    self.waiting.push_back((number, body));
                    self.ask_next();
                }
            }
        }
    }

    fn answer(&mut self, answer: LoginAnswer) {
        let Some((asker, number)) = self.askers.remove(&answer.number) else { return };
        // A hub or server that is gone needs none.
        let _ = asker.send(LoginAnswer { number, ..answer });
    }

    fn fetch_keys(&mut self) {
        match self.keys.clone() {
            None => {}
            Some(KeySource::File(path)) => {
                self.call(move || Came::Keys(Fetcher::read(&path)));
            }
            Some(KeySource::Url(url)) => {
                let fetcher = Arc::clone(&self.fetcher);
                self.call(move || Came::Keys(fetcher.get(&url)));
            }
        }
    }

    /// Asks the authoriser what waits to be asked. One that is down is not asked for a
    /// while, and then once, so that logins do not wait for it in vain.
    fn ask_next(&mut self) {
        while let Some((number, body)) = self.waiting.pop_front() {
            let is_down = self
                .health
                .down_until
                .is_some_and(|until| until > Instant::now() || self.asked > 0);
            if is_down {
                self.judge(number, &Err("it did not answer a moment ago".to_owned()));
                continue;
            }
            if self.asked >= MAX_CALLS {
                self.waiting.push_front((number, body));
                return;
            }
            self.asked += 1;
            let (fetcher, url) = (Arc::clone(&self.fetcher), self.url.clone());
            self.call(move || {
                let answer = fetcher.post(&url, &body);
                Came::Opinion { number, answer }
            });
        }
    }

    fn take(&mut self, came: Came) {
        match came {
            Came::Keys(keys) => self.take_keys(keys),
            Came::Opinion { number, answer } => {
                self.asked -= 1;
                let answer = answer.map_err(|error| error.to_string());
                self.judge(number, &answer);
                self.ask_next();
            }
        }
    }

    fn judge(&mut self, number: u64, answer: &Result<Vec<u8>, String>) {
        let answer = answer.as_ref().map(Vec::as_slice).map_err(Clone::clone);
        let Some(judged) = self.identifier.opinion(now_s(), number, answer) else { return };
        match &judged.trouble {
            Some(why) => {
                if self.health.down_until.is_none() {
                    tracing::error!(url = self.url, why, "the authoriser does not answer");
                }
                self.health.without += 1;
                self.health.down_until = Some(Instant::now() + PAUSE);
            }
            None => {
                if self.health.down_until.take().is_some() {
                    let logins = std::mem::take(&mut self.health.without);
                    tracing::info!(url = self.url, logins, "the authoriser answers again");
                }
            }
        }
        self.answer(judged.answer);
    }

    fn take_keys(&mut self, keys: Result<Vec<u8>, FetcherError>) {
        // Without any keys, those that were kept are better than none.
        let keys = match (keys, &self.copy) {
            (Err(error), Some(copy)) if !self.has_keys => match Fetcher::read(copy) {
                Ok(kept) => {
                    let path = copy.display();
                    tracing::warn!(%error, %path, "keys of tokens as they were kept");
                    Ok(kept)
                }
                Err(_) => Err(error),
            },
            (keys, _) => keys,
        };
        let keys = keys.map_err(|error| error.to_string());
        let bytes = keys.as_ref().map(Vec::as_slice).map_err(Clone::clone);
        let (steps, fetched) = self.identifier.keys(now_s(), bytes);
        match fetched {
            FetchedKeys::Some(count) => {
                if !std::mem::replace(&mut self.has_keys, true) {
                    tracing::info!(keys = count, "keys of tokens");
                }
                if let (Some(copy), Ok(keys)) = (&self.copy, &keys)
                    && let Err(error) = std::fs::write(copy, keys)
                {
                    tracing::warn!(%error, path = %copy.display(), "keys cannot be kept");
                }
            }
            FetchedKeys::Faulty(error) => tracing::error!(%error, "the keys stay as they were"),
            FetchedKeys::Away(error) => {
                tracing::error!(error, "keys of tokens cannot be had; those before stay");
            }
        }
        self.carry_out(steps);
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use tapeline_entitle::{Credential, Person};

    use super::*;

    /// A web server that gives each request the next of these answers: status and body.
    /// `None`: it never answers.
    fn answering(answers: Vec<Option<(u16, &'static str)>>) -> (String, Receiver<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let url = format!("http://{}/v1/data/tapeline/login", listener.local_addr().expect("it"));
        let (sender, bodies) = channel();
        thread::spawn(move || {
            let mut silent = Vec::new();
            for answer in answers {
                let Ok((mut socket, _)) = listener.accept() else { return };
                let mut bytes = Vec::new();
                let mut room = [0; 4096];
                // The head says how long the body is.
                let body = loop {
                    let Ok(count) = socket.read(&mut room) else { return };
                    bytes.extend_from_slice(&room[..count]);
                    let text = String::from_utf8_lossy(&bytes).to_ascii_lowercase();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length = head.lines().find_map(|it| it.strip_prefix("content-length: "));
                    let length = length.and_then(|it| it.trim().parse().ok()).unwrap_or(0);
                    if body.len() >= length {
                        break body.to_owned();
                    }
                };
                let _ = sender.send(body);
                match answer {
                    None => silent.push(socket),
                    Some((status, body)) => {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status} X\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
                        );
                        let _ = socket.write_all(&[head.as_bytes(), body.as_bytes()].concat());
                    }
                }
            }
        });
        (url, bodies)
    }

    fn logins(url: &str) -> Logins {
        let hour = Duration::from_secs(3_600);
        let authoriser = Authoriser { cache: Duration::ZERO, grace: hour };
        let config = LoginConfig {
            tokens: None,
            keys_copy: None,
            authoriser: Some((authoriser, url.to_owned())),
            timeout: Duration::from_millis(300),
            ca_file: PathBuf::from("/none"),
        };
        Logins::start(config).expect("it starts")
    }

    fn question(number: u64, name: &str) -> LoginQuestion {
        LoginQuestion {
            number,
            credential: Credential::Name { name: name.to_owned(), password: None },
            application: "256".to_owned(),
            position: String::new(),
            peer: [127, 0, 0, 1].into(),
            is_provider: false,
            is_reissue: false,
        }
    }

    fn answer(port: &LoginPort, question: LoginQuestion) -> LoginAnswer {
        port.questions.send(question).expect("room");
        port.answers.recv_timeout(Duration::from_secs(20)).expect("an answer")
    }

    #[test]
    fn an_authoriser_says_who_may_log_in_and_each_port_has_its_answers() {
        let (url, bodies) = answering(vec![Some((200, r#"{"result":true}"#)), Some((200, "{}"))]);
        let logins = logins(&url);
        let ports = [logins.port(), logins.port()];
        // They are all that is left of it in a process that runs.
        drop(logins);
        let who = answer(&ports[0], question(7, "ann")).who;
        assert_eq!(who, Ok(Person { user: "ann".to_owned(), roles: None, ends: None }));
        let answer = answer(&ports[1], question(7, "eve"));
        assert!(answer.number == 7 && answer.who.is_err(), "{answer:?}");
        assert!(ports[0].answers.try_recv().is_err());
        let body = bodies.recv().expect("it was asked");
        assert!(body.starts_with(r#"{"input":{"user":"ann","verified":false"#), "{body}");
    }

    #[test]
    fn one_that_is_slow_wrong_or_down_has_those_be_let_in_who_were_lately() {
        let (url, _bodies) =
            answering(vec![Some((200, r#"{"result":true}"#)), None, Some((500, "no"))]);
        let logins = logins(&url);
        let port = logins.port();
        assert!(answer(&port, question(1, "ann")).who.is_ok());
        let began = Instant::now();
        let slow = answer(&port, question(2, "ann"));
        assert!(slow.who.is_ok() && began.elapsed() >= Duration::from_millis(300), "{slow:?}");
        // For a while it is not even asked.
        let began = Instant::now();
        let why = answer(&port, question(3, "eve")).who.expect_err("nobody knows eve");
        assert!(why.is_for_now && began.elapsed() < Duration::from_millis(290), "{why:?}");
        let until = Instant::now() + PAUSE;
        while Instant::now() < until {
            thread::yield_now();
        }
        assert!(answer(&port, question(4, "ann")).who.is_ok(), "its answer was 500");
    }

    #[test]
    fn secrets_go_to_nobody_in_clear_and_certificates_have_to_be_there() {
        let start = |url: &str| {
            let authoriser = Authoriser { cache: Duration::ZERO, grace: Duration::ZERO };
            let config = LoginConfig {
                tokens: None,
                keys_copy: None,
                authoriser: Some((authoriser, url.to_owned())),
                timeout: Duration::from_secs(1),
                ca_file: PathBuf::from("/none/ca.pem"),
            };
            Logins::start(config).expect_err("it cannot be").to_string()
        };
        let error = start("http://opa.example:8181/v1/data/x");
        assert!(error.contains("http://opa.example:8181/v1/data/x: "), "{error}");
        assert!(start("https://opa.example/x").starts_with("/none/ca.pem: "));
    }
}
