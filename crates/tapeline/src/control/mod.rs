//! Another configuration while the process runs.
//!
//! One task of the edge thread has the configuration that holds. It is asked through
//! the admin port, and by SIGHUP to take the file as it is now:
//!
//! ```text
//!            invalid, or wants a restart: refused
//!   apply ──▶ kept in the history ──▶ prepared by all threads ──▶ holds ──▶ watched
//!                                     one failed: nothing             │        │
//!                                     has happened                    │ worse  │ good
//!                                                          before ◀───┘        ▼
//!                                                                      the file is replaced
//! ```
//!
//! The same task looks after certificates and secrets: at SIGHUP, before a change, and each second.
//!
//! The file is replaced last: a process that is killed on the way starts with the
//! configuration that was good. A file that was edited and taken by SIGHUP is the
//! operator's and is never written to.

mod history;
mod touched;

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value as Json, json};
use tapeline_admin::{ConfigAct, ConfigAnswer, ConfigRequest, NewConfig, Normal, Vitals};
use tapeline_counters::Registry;
use tapeline_edge::{Edge, Ending};
use tapeline_node::{Change, Changes, NodeConfig, Parts};
use tapeline_time::host_now;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout};

use crate::composition::Credentials;
use crate::config::{Class, Difference, Settings, differences, lines};
use crate::failure::Failure;
use crate::log::Levels;
use history::{History, hash, replace};
use touched::Touched;

/// How often the process is looked at, and for how long back.
const LOOK: Duration = Duration::from_secs(1);
const LOOKS: usize = 30;

/// How long a thread may take to prepare a change, and to have it hold.
const PATIENCE: Duration = Duration::from_secs(2);

/// A file taken by SIGHUP is watched for so long.
const WATCH_AFTER_SIGHUP: Duration = Duration::from_secs(30);

/// Makes settings of the text of a file, with the flags of the process.
pub(crate) type Read = Box<dyn Fn(&Path, &str) -> Result<Settings, Failure> + Send + Sync>;

/// Makes what runs of settings.
pub(crate) type Compose = Box<dyn Fn(&Settings) -> Result<NodeConfig, Failure> + Send + Sync>;

/// A configuration that holds, or did.
#[derive(Clone)]
struct Held {
    settings: Settings,
    text: String,
    /// Its number in the history.
    number: Option<u64>,
    who: String,
}

/// A change that is looked at.
struct Watch {
    until: Instant,
    before: Held,
    normal: Normal,
    worse: u32,
    /// Whether the file is to become this one.
    is_to_be_written: bool,
}

/// What can change the configuration of a process.
pub(crate) struct Control {
    file: Option<PathBuf>,
    read: Read,
    compose: Compose,
    changes: Changes,
    registry: Registry,
    levels: Levels,
    credentials: Credentials,
    held: Held,
    parts: Parts,
    epoch: u64,
    before: Option<Held>,
    looks: VecDeque<Vitals>,
    watch: Option<Watch>,
    /// What became of the last change.
    outcome: String,
    history: Option<History>,
}

/// What a process started with.
pub(crate) struct Beginning {
    pub(crate) file: Option<PathBuf>,
    pub(crate) settings: Settings,
    pub(crate) config: NodeConfig,
    pub(crate) levels: Levels,
    pub(crate) credentials: Credentials,
}

impl Control {
    pub(crate) fn new(beginning: Beginning, read: Read, compose: Compose) -> Self {
        let Beginning { file, settings, config, levels, credentials } = beginning;
        let text = file.as_deref().and_then(|file| fs::read_to_string(file).ok());
        let text = text.unwrap_or_default();
        let history = file.as_deref().map(History::of);
        let before = history.as_ref().and_then(|history| {
            let text = history.before(&text)?;
            let settings = read(file.as_deref()?, &text).ok()?;
            Some(Held { settings, text, number: None, who: String::new() })
        });
        let parts = Parts::from(&config);
        let held = Held { settings, text, number: None, who: "start".to_owned() };
        Self {
            file,
            read,
            compose,
            changes: config.changes,
            registry: config.registry,
            levels,
            credentials,
            held,
            parts,
            epoch: 0,
            before,
            looks: VecDeque::new(),
            watch: None,
            outcome: "kept".to_owned(),
            history,
        }
    }

    /// Has it work on the edge thread.
    ///
    /// Errors: signals cannot be caught.
    pub(crate) fn start(
        self,
        edge: &Edge,
        requests: mpsc::Receiver<ConfigRequest>,
    ) -> Result<(), Failure> {
        let hangups = {
            let _inside = edge.handle().enter();
            signal(SignalKind::hangup()).map_err(Failure::Signals)?
        };
        edge.spawn(|ending| self.run(requests, hangups, ending));
        Ok(())
    }

    async fn run(
        mut self,
        mut requests: mpsc::Receiver<ConfigRequest>,
        mut hangups: Signal,
        mut ending: Ending,
    ) {
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = ending.wait() => return,
                Some(request) = requests.recv() => {
                    let answer = self.handle(&request.act).await;
                    request.answer(answer);
                }
                Some(()) = hangups.recv() => {
                    self.credentials.reload();
                    self.read_again().await;
                }
                _ = looks.tick() => {
                    self.credentials.look();
                    self.look().await;
                }
            }
        }
    }

    async fn handle(&mut self, act: &ConfigAct) -> ConfigAnswer {
        let done = match act {
            ConfigAct::Status => Ok(self.status()),
            ConfigAct::History => Ok(json!({ "history": self.history() })),
            ConfigAct::Plan(new) => self.plan(new),
            ConfigAct::Apply(new) => self.apply(new).await,
            ConfigAct::Rollback(new) => self.roll_back(&new.who).await,
        };
        match done {
            Ok(json) => ConfigAnswer::Done(json),
            Err(why) => {
                tracing::warn!(why, "the configuration stays as it is");
                ConfigAnswer::Refused(why)
            }
        }
    }

    fn status(&self) -> Json {
        let left = self.watch.as_ref().map(|watch| watch.until - Instant::now());
        json!({
            "epoch": self.epoch,
            "file": self.file,
            "hash": hash(&self.held.text),
            "number": self.held.number,
            "who": self.held.who,
            "watchedForS": left.map(|left| left.as_secs_f64().ceil()),
            "outcome": self.outcome,
        })
    }

    fn history(&self) -> Vec<Json> {
        self.history.as_ref().map(History::list).unwrap_or_default()
    }

    /// What a configuration would change, and whom that touches.
    fn plan(&self, new: &NewConfig) -> Result<Json, String> {
        let settings = self.parsed(new)?;
        let found = differences(&self.held.settings, &settings);
        let now = Vitals::of(&self.registry, host_now());
        let touched = Touched::by(&found, now);
        Ok(json!({
            "changes": found.iter().map(shown).collect::<Vec<_>>(),
            "lines": lines(&found),
            "touched": touched.text,
            "touchedMounts": touched.mounts,
            "touchedItems": touched.items,
            "mounts": now.mounts,
            "items": now.items,
            "needsRestart": needs_restart(&found).is_some(),
        }))
    }

    async fn apply(&mut self, new: &NewConfig) -> Result<Json, String> {
        self.check_watched()?;
        self.credentials.reload();
        let settings = self.parsed(new)?;
        let text = new.text.clone();
        let watch = Duration::from_secs(new.watch_s);
        let next = Held { settings, text, number: None, who: new.who.clone() };
        self.change_to(next, "apply", watch, true).await
    }

    /// Takes the file as it is now.
    async fn read_again(&mut self) {
        let Some(file) = self.file.clone() else {
            return tracing::warn!(
                "SIGHUP: the process was started without --config; its certificates and secrets were read again"
            );
        };
        let read = async {
            self.check_watched()?;
            let text = fs::read_to_string(&file).map_err(|error| format!("{error}"))?;
            let settings = (self.read)(&file, &text).map_err(|error| error.to_string())?;
            let next = Held { settings, text, number: None, who: "SIGHUP".to_owned() };
            self.change_to(next, "SIGHUP", WATCH_AFTER_SIGHUP, false).await
        };
        if let Err(why) = read.await {
            tracing::error!(file = %file.display(), why, "SIGHUP: the configuration stays as it is");
        }
    }

    async fn roll_back(&mut self, who: &str) -> Result<Json, String> {
        if let Some(watch) = self.watch.take() {
            self.take_back(watch, &format!("{who} wanted it")).await;
            return Ok(self.status());
        }
        let before = self.before.take().ok_or("there is no configuration before this one")?;
        let next = Held { who: who.to_owned(), number: None, ..before.clone() };
        let done = self.change_to(next, "rollback", Duration::ZERO, true).await;
        if done.is_err() {
            self.before = Some(before);
        }
        done
    }

    fn check_watched(&self) -> Result<(), String> {
        let Some(watch) = &self.watch else { return Ok(()) };
        let left = (watch.until - Instant::now()).as_secs() + 1;
        Err(format!("the last change is watched for another {left} s; wait, or roll it back"))
    }

    fn parsed(&self, new: &NewConfig) -> Result<Settings, String> {
        // Of the kind that the file is, into which it is to be written.
        let path = PathBuf::from(&new.name);
        let is_toml = |path: &Path| path.extension().is_some_and(|it| it == "toml");
        if let Some(file) = &self.file
            && is_toml(file) != is_toml(&path)
        {
            let file = file.display();
            return Err(format!(
                "{} is not of the kind of {file}, whose place it is to take; `tapeline config \
                 import` makes TOML of an rmds.cnf",
                new.name
            ));
        }
        (self.read)(&path, &new.text).map_err(|failure| failure.to_string())
    }

    /// Has another configuration hold, in all threads or in none.
    async fn change_to(
        &mut self,
        mut next: Held,
        how: &str,
        watch: Duration,
        is_to_be_written: bool,
    ) -> Result<Json, String> {
        let found = differences(&self.held.settings, &next.settings);
        if let Some(keys) = needs_restart(&found) {
            return Err(format!("{keys} cannot change without a restart; nothing was changed"));
        }
        next.number = self.enter(&next, how)?;
        let sources = |held: &Held| held.settings.sources.len() as u64;
        let fewer = sources(&self.held).saturating_sub(sources(&next));
        let normal = self.normal().with_fewer_sources(fewer);
        if let Err(why) = self.swap(&next.settings).await {
            self.note(&next, "refused", &why);
            return Err(why);
        }
        let keys = found.iter().map(|it| it.key.as_str()).collect::<Vec<_>>().join(" ");
        tracing::info!(epoch = self.epoch, how, who = next.who, keys, "another configuration");
        let before = std::mem::replace(&mut self.held, next);
        "watched".clone_into(&mut self.outcome);
        let until = Instant::now() + watch;
        self.watch = Some(Watch { until, before, normal, worse: 0, is_to_be_written });
        if watch.is_zero() {
            self.keep();
        }
        let mut status = self.status();
        status["changes"] = found.iter().map(shown).collect();
        Ok(status)
    }

    /// Keeps a text in the history, and the one that holds if it is not there yet.
    fn enter(&mut self, next: &Held, how: &str) -> Result<Option<u64>, String> {
        let Some(history) = &self.history else { return Ok(None) };
        let failed = |error: std::io::Error| format!("the history cannot be written: {error}");
        if self.held.number.is_none() {
            let number = history.enter(&self.held.text, "", "start").map_err(failed)?;
            history.note(number, &json!({ "outcome": "kept" })).map_err(failed)?;
            self.held.number = Some(number);
        }
        history.enter(&next.text, &next.who, how).map(Some).map_err(failed)
    }

    /// Notes what became of a configuration.
    fn note(&self, held: &Held, outcome: &str, why: &str) {
        let (Some(history), Some(number)) = (&self.history, held.number) else { return };
        let why = (!why.is_empty()).then_some(why);
        if let Err(error) = history.note(number, &json!({ "outcome": outcome, "why": why })) {
            tracing::error!(%error, "the history cannot be written");
        }
    }

    /// What was normal in the last half minute.
    fn normal(&self) -> Normal {
        let now = Vitals::of(&self.registry, host_now());
        Normal::between(self.looks.front().copied().unwrap_or(now), now)
    }

    /// Has all threads have other settings, or none.
    async fn swap(&mut self, settings: &Settings) -> Result<(), String> {
        let after = (self.compose)(settings).map_err(|failure| failure.to_string())?;
        let after = Parts::from(&after);
        check_shared_ports(settings, &self.parts, &after)?;
        let change = Change::new(self.epoch + 1, self.parts.clone(), after.clone());
        let change = Arc::new(change);
        let mut answers = Vec::new();
        self.changes.prepare(&change, |thread| {
            let (reply, answer) = oneshot::channel();
            answers.push((thread.to_owned(), answer));
            // Nobody may wait for it any more.
            move |result| drop(reply.send(result))
        });
        let mut faults = Vec::new();
        for (thread, answer) in answers {
            match timeout(PATIENCE, answer).await {
                // One that ended has no answer, and needs no configuration.
                Ok(Ok(Ok(())) | Err(_)) => {}
                Ok(Ok(Err(why))) => faults.push(format!("thread {thread}: {why}")),
                Err(_) => faults.push(format!("thread {thread} did not answer in time")),
            }
        }
        if !faults.is_empty() {
            change.abandon();
            return Err(format!("{}; nothing was changed", faults.join("; ")));
        }
        change.commit();
        self.epoch += 1;
        self.parts = after;
        self.levels.set(&settings.log);
        self.await_epoch().await;
        Ok(())
    }

    /// Waits until all threads have taken the change, which they do in their next
    /// turns.
    async fn await_epoch(&self) {
        let is_behind = || {
            let threads = self.registry.blocks().filter(|block| block.table().group == "thread");
            let mut epochs = threads.filter_map(|block| block.value_of("config_epoch"));
            epochs.any(|epoch| epoch < self.epoch)
        };
        let all = async {
            while is_behind() {
                sleep(Duration::from_millis(5)).await;
            }
        };
        if timeout(PATIENCE, all).await.is_err() {
            tracing::warn!(epoch = self.epoch, "a thread has not turned since the change");
        }
    }

    /// Looks how the process is, and what is to become of a change that is watched.
    async fn look(&mut self) {
        let now = Vitals::of(&self.registry, host_now());
        let last = self.looks.back().copied().unwrap_or(now);
        if self.looks.len() == LOOKS {
            self.looks.pop_front();
        }
        self.looks.push_back(now);
        let Some(watch) = &mut self.watch else { return };
        match watch.normal.worse(last, now) {
            Some(decline) => {
                watch.worse += 1;
                if watch.worse >= decline.looks
                    && let Some(watch) = self.watch.take()
                {
                    self.take_back(watch, &decline.what).await;
                }
            }
            None => {
                watch.worse = 0;
                if Instant::now() >= watch.until {
                    self.keep();
                }
            }
        }
    }

    /// The change is good: the next start has it, too.
    fn keep(&mut self) {
        let Some(watch) = self.watch.take() else { return };
        "kept".clone_into(&mut self.outcome);
        if let Some(file) = self.file.as_ref().filter(|_| watch.is_to_be_written)
            && let Err(error) = replace(file, &self.held.text)
        {
            self.outcome = format!("kept, but {} cannot be written: {error}", file.display());
            tracing::error!(file = %file.display(), %error, "the file stays as it was; the next start has the configuration before");
        }
        tracing::info!(epoch = self.epoch, "the configuration is kept");
        self.note(&self.held, "kept", "");
        self.before = Some(watch.before);
    }

    /// The configuration before holds again.
    async fn take_back(&mut self, watch: Watch, why: &str) {
        tracing::warn!(epoch = self.epoch, why, "the change is taken back");
        self.note(&self.held, "taken back", why);
        let Watch { before, is_to_be_written, .. } = watch;
        match self.swap(&before.settings).await {
            Ok(()) => {
                self.held = before;
                self.outcome = format!("taken back: {why}");
                if !is_to_be_written {
                    tracing::warn!(
                        "the file has the configuration that was taken back; the next start will have it"
                    );
                }
            }
            Err(error) => {
                self.outcome = format!("it is to be taken back ({why}), which failed: {error}");
                tracing::error!(error, "the configuration before cannot hold again");
            }
        }
    }
}

/// A new port that the system is to choose would be another one for each shard.
fn check_shared_ports(settings: &Settings, before: &Parts, after: &Parts) -> Result<(), String> {
    let (Some(before), Some(after)) = (before.servers.first(), after.servers.first()) else {
        return Ok(());
    };
    let is_chosen = |after: &[std::net::SocketAddr], before: &[std::net::SocketAddr]| {
        after.iter().any(|address| address.port() == 0 && !before.contains(address))
    };
    let any = is_chosen(&after.listen, &before.listen)
        || is_chosen(&after.listen_websocket, &before.listen_websocket)
        || is_chosen(&after.listen_tls, &before.listen_tls)
        || is_chosen(&after.listen_websocket_tls, &before.listen_websocket_tls);
    match any && settings.server.shards > 1 {
        true => Err("shards share their ports; give a new one a number, not 0".to_owned()),
        false => Ok(()),
    }
}

/// The keys that want a restart, if there are any.
fn needs_restart(found: &[Difference]) -> Option<String> {
    let keys = found.iter().filter(|it| it.class == Class::Restart).map(|it| it.key.as_str());
    let keys: Vec<_> = keys.collect();
    (!keys.is_empty()).then(|| keys.join(", "))
}

fn shown(difference: &Difference) -> Json {
    let Difference { key, before, after, class } = difference;
    json!({ "key": key, "before": before, "after": after, "class": class.word() })
}
