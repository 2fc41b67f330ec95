//! Aeron over shared memory or UDP: the backbone's transport without the backbone.

use std::ffi::CString;
use std::io;
use std::net::IpAddr;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rusteron_media_driver::bindings::aeron_threading_mode_enum;
use rusteron_media_driver::{
    Aeron, AeronCError, AeronContext, AeronDriver, AeronDriverContext, AeronExclusivePublication,
    AeronFragmentClosureAssembler, AeronHeader, AeronOfferError, AeronSubscription, Handlers,
};
use rustix::thread::set_current_timer_slack;
use tapeline_measure::stop;

use super::{Channel, Link};
use crate::local::{folder_prefix, shared_folder};

/// Of a term: a message may have an eighth of it.
const TERM_BYTES: usize = 4 << 20;

/// The longest message.
pub(crate) const MAX_BYTES: usize = TERM_BYTES / 8;

/// The first stream; each connection has two.
const FIRST_STREAM: i32 = 3001;

/// A client is worked once in so many polls.
const TURNS_PER_WORK: u32 = 64;

/// Fragments that are read in one poll.
const AT_ONCE: usize = 64;

/// How long the driver sleeps when it has nothing to do: nothing that goes
/// through shared memory goes through the driver.
pub(super) const DRIVER_NAP: Duration = Duration::from_micros(200);

/// The same of one that messages go through.
const BUSY_DRIVER_NAP: Duration = Duration::from_micros(50);

/// What is heard by the side that listens, and by the other one.
const TO_SERVER: i32 = FIRST_STREAM;
const TO_CLIENT: i32 = FIRST_STREAM + 1;

/// The longest address of an end.
const MAX_ENDPOINT_BYTES: usize = 128;

const PATIENCE: Duration = Duration::from_secs(10);

static FOLDERS: AtomicU32 = AtomicU32::new(0);

fn failed(error: &AeronCError) -> io::Error {
    io::Error::other(format!("Aeron: {}", error.get_last_err_message().trim()))
}

fn c_string(text: &str) -> CString {
    CString::new(text).unwrap_or_default()
}

/// A driver in a thread of its own, whose folder goes with it.
pub(super) struct Driver {
    pub(super) folder: String,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Driver {
    /// One that sleeps for so long when it has nothing to do; `None`: it lets
    /// others go first, and looks again.
    pub(super) fn start(nap: Option<Duration>) -> io::Result<Self> {
        let serial = FOLDERS.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{serial}", folder_prefix(std::process::id()));
        let folder = shared_folder().join(name).to_string_lossy().into_owned();
        let is_over = Arc::new(AtomicBool::new(false));
        let (started, has_started) = mpsc::channel();
        let (over, of) = (Arc::clone(&is_over), folder.clone());
        let run = move || work(&of, nap, &over, &started);
        let thread = thread::Builder::new().name("aeron driver".to_owned()).spawn(run)?;
        let driver = Self { folder, is_over, thread: Some(thread) };
        match has_started.recv_timeout(PATIENCE) {
            Ok(Ok(())) => Ok(driver),
            Ok(Err(error)) => Err(error),
            Err(_) => Err(io::Error::other("Aeron's driver did not start within 10 s")),
        }
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn work(
    folder: &str,
    nap: Option<Duration>,
    is_over: &AtomicBool,
    started: &Sender<io::Result<()>>,
) {
    // Else the kernel wakes it up to 50 µs late on purpose.
    let _ = set_current_timer_slack(NonZeroU64::new(1));
    let driver = match driver(folder) {
        Ok(driver) => driver,
        Err(error) => {
            let _ = started.send(Err(failed(&error)));
            return;
        }
    };
    let _ = started.send(Ok(()));
    while !is_over.load(Ordering::Acquire) {
        if driver.main_do_work().is_ok_and(|work| work == 0) {
            match nap {
                Some(nap) => thread::sleep(nap),
                None => thread::yield_now(),
            }
        }
    }
}

fn driver(folder: &str) -> Result<AeronDriver, AeronCError> {
    let context = AeronDriverContext::new()?;
    context.set_dir(&c_string(folder))?;
    context.set_dir_delete_on_start(true)?;
    context.set_dir_delete_on_shutdown(true)?;
    context.set_threading_mode(aeron_threading_mode_enum::AERON_THREADING_MODE_INVOKER)?;
    context.set_ipc_term_buffer_length(TERM_BYTES)?;
    context.set_term_buffer_length(TERM_BYTES)?;
    let driver = AeronDriver::new(&context)?;
    driver.start(true)?;
    Ok(driver)
}

fn client(folder: &str) -> Result<Aeron, AeronCError> {
    let context = AeronContext::new()?;
    context.set_dir(&c_string(folder))?;
    context.set_use_conductor_agent_invoker(true)?;
    let client = Aeron::new(&context)?;
    client.start()?;
    Ok(client)
}

fn publication(
    client: &Aeron,
    channel: &str,
    stream: i32,
) -> Result<AeronExclusivePublication, AeronCError> {
    let adding = client.async_add_exclusive_publication(&c_string(channel), stream)?;
    loop {
        client.main_do_work()?;
        if let Some(publication) = adding.poll()? {
            return Ok(publication);
        }
        thread::yield_now();
    }
}

fn subscription(
    client: &Aeron,
    channel: &str,
    stream: i32,
) -> Result<AeronSubscription, AeronCError> {
    let channel = c_string(channel);
    let adding = client.async_add_subscription(&channel, stream, Handlers::NONE, Handlers::NONE)?;
    loop {
        client.main_do_work()?;
        if let Some(subscription) = adding.poll()? {
            return Ok(subscription);
        }
        thread::yield_now();
    }
}

/// An end that hears over the network, by a driver of its own, and does not know
/// yet where to speak.
pub(crate) struct AeronEar {
    subscription: AeronSubscription,
    client: Aeron,
    driver: Arc<Driver>,
    /// Where it is heard.
    channel: Channel,
    /// The stream on which it speaks.
    out: i32,
}

impl AeronEar {
    /// Of the side that listens or of the other one, which has this address of
    /// its own.
    pub(crate) fn open(
        channel: &Channel,
        own: IpAddr,
        (listens, is_spinning): (bool, bool),
    ) -> io::Result<Self> {
        let driver = Driver::start((!is_spinning).then_some(BUSY_DRIVER_NAP))?;
        let (out, back) = if listens { (TO_CLIENT, TO_SERVER) } else { (TO_SERVER, TO_CLIENT) };
        let wanted = channel.heard_at(own);
        let opened = || -> Result<_, AeronCError> {
            let client = client(&driver.folder)?;
            let subscription = subscription(&client, wanted.as_str(), back)?;
            Ok((client, subscription))
        };
        let (client, subscription) = opened().map_err(|error| failed(&error))?;
        let until = Instant::now() + PATIENCE;
        let endpoint = loop {
            client.main_do_work().map_err(|error| failed(&error))?;
            match subscription.resolved_endpoint_as_string(MAX_ENDPOINT_BYTES) {
                Ok(endpoint) if !endpoint.is_empty() => break endpoint,
                Err(error) => return Err(failed(&error)),
                _ if Instant::now() >= until => {
                    let what = format!("Aeron hears nothing at {wanted}");
                    return Err(io::Error::new(io::ErrorKind::TimedOut, what));
                }
                _ => thread::sleep(DRIVER_NAP),
            }
        };
        let channel = wanted.with_endpoint(&endpoint);
        Ok(Self { subscription, client, driver: Arc::new(driver), channel, out })
    }

    /// Where it is heard, with the port that the system has chosen.
    pub(crate) const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The whole end, after the other one hears it.
    pub(crate) fn speaks_to(self, channel: &Channel) -> io::Result<Box<dyn Link>> {
        let Self { subscription, client, driver, out, .. } = self;
        let made = || -> Result<_, AeronCError> {
            let publication = publication(&client, channel.as_str(), out)?;
            Ok((publication, AeronFragmentClosureAssembler::new()?))
        };
        let (publication, assembler) = made().map_err(|error| failed(&error))?;
        let end = AeronLink {
            publication,
            subscription,
            assembler,
            client,
            _driver: Some(driver),
            turn: 0,
        };
        Ok(Box::new(end.met()?))
    }
}

/// One end: it sends on one stream and hears the other.
pub(crate) struct AeronLink {
    publication: AeronExclusivePublication,
    subscription: AeronSubscription,
    assembler: AeronFragmentClosureAssembler,
    // Declared behind what it made: it goes after it.
    client: Aeron,
    /// Of the side that listens: it goes last.
    _driver: Option<Arc<Driver>>,
    turn: u32,
}

impl AeronLink {
    /// The end of connection `number` of a driver's folder.
    pub(super) fn open(
        folder: &str,
        number: usize,
        driver: Option<Arc<Driver>>,
    ) -> io::Result<Self> {
        let first = FIRST_STREAM + 2 * number as i32;
        let (out, back) = if driver.is_some() { (first, first + 1) } else { (first + 1, first) };
        Self::of_streams(folder, out, back, driver).map_err(|error| failed(&error))
    }

    fn of_streams(
        folder: &str,
        out: i32,
        back: i32,
        driver: Option<Arc<Driver>>,
    ) -> Result<Self, AeronCError> {
        let client = client(folder)?;
        let publication = publication(&client, Channel::IPC, out)?;
        let subscription = subscription(&client, Channel::IPC, back)?;
        let assembler = AeronFragmentClosureAssembler::new()?;
        Ok(Self { publication, subscription, assembler, client, _driver: driver, turn: 0 })
    }

    /// Waits until the other end listens.
    pub(super) fn met(self) -> io::Result<Self> {
        let until = Instant::now() + PATIENCE;
        while !self.publication.is_connected() {
            if stop::is_asked() {
                return Err(io::ErrorKind::Interrupted.into());
            }
            if Instant::now() >= until {
                let what = "nobody came to Aeron's stream within 10 s";
                return Err(io::Error::new(io::ErrorKind::TimedOut, what));
            }
            self.client.main_do_work().map_err(|error| failed(&error))?;
            thread::sleep(DRIVER_NAP);
        }
        Ok(self)
    }

    /// Returns whether the other end has gone, as far as was looked.
    fn work(&mut self) -> io::Result<bool> {
        self.turn = self.turn.wrapping_add(1);
        if !self.turn.is_multiple_of(TURNS_PER_WORK) {
            return Ok(false);
        }
        self.client.main_do_work().map_err(|error| failed(&error))?;
        Ok(!self.publication.is_connected())
    }
}

impl Link for AeronLink {
    fn offer(&mut self, message: &[u8]) -> io::Result<bool> {
        match self.publication.offer_parts(&[message]) {
            Ok(_) => Ok(true),
            Err(AeronOfferError::BackPressured | AeronOfferError::AdminAction) => {
                self.work()?;
                Ok(false)
            }
            Err(AeronOfferError::NotConnected | AeronOfferError::Closed) => {
                Err(io::ErrorKind::UnexpectedEof.into())
            }
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    fn poll(&mut self, each: &mut dyn FnMut(&[u8])) -> io::Result<()> {
        struct To<'a>(&'a mut dyn FnMut(&[u8]));
        fn pass_on(to: &mut To<'_>, message: &[u8], _: AeronHeader) {
            (to.0)(message);
        }
        let is_gone = self.work()?;
        let polled = self.assembler.poll(&self.subscription, &mut To(each), pass_on, AT_ONCE);
        match polled.map_err(|error| failed(&error))? {
            // What it has sent before it went is taken first.
            0 if is_gone => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }
}
