//! Who logs in: questions of hubs and servers, answered by published keys and by an
//! authoriser over HTTP.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, SyncSender, TryRecvError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tapeline_entitle::{LoginAnswer, LoginPort, LoginQuestion};
use tapeline_identity::{Authoriser, FetchedKeys, Identifier, Step, Tokens};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::http::{Fetcher, FetcherError};
use crate::policy_file::unix_ms;
use crate::{Edge, EdgeError, Ending};

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

/// Identifies who logs in, for each hub and server of a process. Requests to web servers
/// are made beside the edge thread, a bounded number at a time, so that one that is slow
/// holds up neither policies nor the journal.
#[derive(Debug)]
pub struct Logins {
    ports: Arc<Mutex<Vec<End>>>,
}

/// The edge's end of a port.
#[derive(Debug)]
struct End {
    questions: Receiver<LoginQuestion>,
    answers: Sender<LoginAnswer>,
}

impl Logins {
    /// Has the edge answer the questions of logins, until it ends.
    ///
    /// Errors: the certificates cannot be read; an address is not one that secrets may
    /// go to.
    pub fn start(edge: &Edge, config: LoginConfig) -> Result<Self, EdgeError> {
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
            fetches: JoinSet::new(),
            calls: JoinSet::new(),
            health: Health::default(),
            has_keys: false,
        };
        edge.spawn(|ending| work.run(ending));
        Ok(Self { ports })
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

/// What came of a request.
type Came = Result<Vec<u8>, FetcherError>;

/// Whether the authoriser answers.
#[derive(Debug, Default)]
struct Health {
    /// When it is tried again, if it is down.
    down_until: Option<Instant>,
    /// Logins that were decided without it meanwhile.
    without: u64,
}

/// The task.
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
    /// Keys that are on their way.
    fetches: JoinSet<Came>,
    /// Requests to the authoriser that are under way, by number.
    calls: JoinSet<(u64, Came)>,
    health: Health,
    has_keys: bool,
}

fn now_s() -> u64 {
    unix_ms() / 1000
}

impl Work {
    async fn run(mut self, mut ending: Ending) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                // Whoever asked is gone; what is still on its way is awaited by nobody.
                () = ending.wait() => return,
                _ = looks.tick() => {}
                Some(Ok(keys)) = self.fetches.join_next() => self.take_keys(keys),
                Some(Ok((number, answer))) = self.calls.join_next() => {
                    self.judge(number, &answer.map_err(|error| error.to_string()));
                    self.ask_next();
                }
            }
            self.hear();
            if let Some(step) = self.identifier.due(now_s()) {
                self.carry_out(vec![step]);
            }
        }
    }

    /// Takes the questions that came.
    fn hear(&mut self) {
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
        drop(ports);
        for (asker, question) in asked {
            let number = self.next_number;
            self.next_number += 1;
            self.askers.insert(number, (asker, question.number));
            let steps = self.identifier.question(now_s(), LoginQuestion { number, ..question });
            self.carry_out(steps);
        }
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
                self.fetches.spawn_blocking(move || Fetcher::read(&path));
            }
            Some(KeySource::Url(url)) => {
                let fetcher = Arc::clone(&self.fetcher);
                self.fetches.spawn_blocking(move || fetcher.get(&url));
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
                .is_some_and(|until| until > Instant::now() || !self.calls.is_empty());
            if is_down {
                self.judge(number, &Err("it did not answer a moment ago".to_owned()));
                continue;
            }
            if self.calls.len() >= MAX_CALLS {
                self.waiting.push_front((number, body));
                return;
            }
            let (fetcher, url) = (Arc::clone(&self.fetcher), self.url.clone());
            self.calls.spawn_blocking(move || (number, fetcher.post(&url, &body)));
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

    fn take_keys(&mut self, keys: Came) {
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
    use std::thread;

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

    fn logins(edge: &Edge, url: &str) -> Logins {
        let hour = Duration::from_secs(3_600);
        let authoriser = Authoriser { cache: Duration::ZERO, grace: hour };
        let config = LoginConfig {
            tokens: None,
            keys_copy: None,
            authoriser: Some((authoriser, url.to_owned())),
            timeout: Duration::from_millis(300),
            ca_file: PathBuf::from("/none"),
        };
        Logins::start(edge, config).expect("it starts")
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
        let edge = Edge::start().expect("a thread");
        let logins = logins(&edge, &url);
        let ports = [logins.port(), logins.port()];
        // They are all that is left of it in a process that runs.
        drop(logins);
        let who = answer(&ports[0], question(7, "ann")).who;
        assert_eq!(who, Ok(Person::of("ann")));
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
        let edge = Edge::start().expect("a thread");
        let logins = logins(&edge, &url);
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
    fn one_that_never_answers_holds_up_neither_other_tasks_nor_the_end() {
        let (url, bodies) = answering(vec![None]);
        let edge = Edge::start().expect("a thread");
        let authoriser = Authoriser { cache: Duration::ZERO, grace: Duration::ZERO };
        let config = LoginConfig {
            tokens: None,
            keys_copy: None,
            authoriser: Some((authoriser, url)),
            timeout: Duration::from_secs(60),
            ca_file: PathBuf::from("/none"),
        };
        let port = Logins::start(&edge, config).expect("it starts").port();
        port.questions.send(question(1, "ann")).expect("room");
        bodies.recv_timeout(Duration::from_secs(20)).expect("it is asked");
        let (done, is_done) = channel();
        edge.spawn(|_| async move {
            let _ = done.send(());
        });
        is_done.recv_timeout(Duration::from_secs(20)).expect("other tasks go on");
        let began = Instant::now();
        drop(edge);
        assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    }

    #[test]
    fn secrets_go_to_nobody_in_clear_and_certificates_have_to_be_there() {
        let edge = Edge::start().expect("a thread");
        let start = |url: &str| {
            let authoriser = Authoriser { cache: Duration::ZERO, grace: Duration::ZERO };
            let config = LoginConfig {
                tokens: None,
                keys_copy: None,
                authoriser: Some((authoriser, url.to_owned())),
                timeout: Duration::from_secs(1),
                ca_file: PathBuf::from("/none/ca.pem"),
            };
            Logins::start(&edge, config).expect_err("it cannot be").to_string()
        };
        let error = start("http://opa.example:8181/v1/data/x");
        assert!(error.contains("http://opa.example:8181/v1/data/x: "), "{error}");
        assert!(start("https://opa.example/x").starts_with("/none/ca.pem: "));
    }
}
