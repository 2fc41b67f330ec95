//! Aeron, on the caller's thread.

mod directory;
mod driver;
mod link;
mod sockets;

use std::cell::{Cell, OnceCell, RefCell};
use std::ffi::CString;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use rusteron_media_driver::{
    Aeron, AeronCError, AeronContext, AeronDriver, AeronErrorHandlerCallback,
};
use tapeline_rssl::Time;

use crate::channel::Channels;
use crate::error::BackboneError;
use crate::port::{Port, PortSettings};
use crate::settings::{Driver, EngineSettings, HostLimits};
pub use link::{AeronSink, AeronSource};

/// A member of the backbone over Aeron.
pub type AeronPort = Port<AeronSink, AeronSource>;

/// One turn of the driver in so many turns of the caller when nothing crosses
/// a network: it then only moves the limits of publishers.
const TURNS_PER_DRIVER_WORK: u32 = 16;
/// One turn of the client in so many turns of the caller.
const TURNS_PER_CLIENT_WORK: u32 = 64;
/// A caller that sleeps between its turns still gets both worked this often.
const LONGEST_WAIT: Duration = Duration::from_millis(1);
/// What is over shared memory has neither losses to repair nor windows to move.
const LONGEST_WAIT_IN_MEMORY: Duration = Duration::from_millis(10);
/// Turns at the end, in which goodbyes reach the network.
const LAST_TURNS: usize = 64;

/// Aeron in this process: a media driver, unless it is another process, and
/// the client of it. One per thread; all of its ports stay on that thread.
///
/// Nothing happens but in [`Engine::work`] and in the calls of its ports. A
/// thread that stands still for long (see
/// [`EngineSettings::client_liveness`]) finds the engine failed: then drop its
/// ports and the engine, and build new ones with new incarnations.
pub struct Engine {
    shared: Rc<Shared>,
    settings: EngineSettings,
    /// Receiver's window and socket buffer, in bytes.
    receiver_bytes: (u32, u32),
    has_network: bool,
    turn: u32,
    last_driver: Time,
    last_client: Time,
}

/// What ports need to be alive as long as they are. The client goes before the
/// driver, in the order of the fields.
struct Shared {
    client: Aeron,
    driver: Option<AeronDriver>,
    directory: PathBuf,
    /// The last thing that Aeron reported from outside of calls.
    reported: Reported,
    failure: OnceCell<String>,
    /// A publisher waits for its limit, which the driver moves.
    is_waited_for: Cell<bool>,
}

type Reported = Rc<RefCell<Option<String>>>;

impl Engine {
    /// Starts the driver, unless it is another process, and connects to it.
    pub fn new(settings: EngineSettings) -> Result<Self, BackboneError> {
        settings.check()?;
        let limits = HostLimits::read();
        let receiver_bytes = settings.bounded(limits);
        let (driver, directory) = match &settings.driver {
            Driver::Embedded { directory } => {
                let directory = directory.clone().unwrap_or_else(directory::fresh);
                let driver = driver::start(&settings, receiver_bytes, &directory)
                    .map_err(|error| failed("start the driver", &directory, &error))?;
                (Some(driver), directory)
            }
            Driver::External { directory } => (None, directory.clone()),
        };
        let reported = Reported::default();
        let client = connect(&settings, &directory, Rc::clone(&reported))
            .map_err(|error| failed("connect to the driver", &directory, &error))?;
        let shared = Rc::new(Shared {
            client,
            driver,
            directory,
            reported,
            failure: OnceCell::new(),
            is_waited_for: Cell::new(false),
        });
        Ok(Self {
            shared,
            settings,
            receiver_bytes,
            has_network: false,
            turn: 0,
            last_driver: Time::ZERO,
            last_client: Time::ZERO,
        })
    }

    /// A port on `channels`. It meets peers after some turns of work.
    pub fn port(
        &mut self,
        port: PortSettings,
        channels: &Channels,
    ) -> Result<AeronPort, BackboneError> {
        let streams = channels.streams(port.role, &self.settings, self.receiver_bytes);
        let text = channels.to_string();
        let place = Path::new(&text);
        let refused = |action| move |error| failed(action, place, &error);
        let source = AeronSource::add(&self.shared, &streams.subscription)
            .map_err(refused("add a subscription"))?;
        let sink = AeronSink::add(&self.shared, &streams.publication, streams.max_message_bytes)
            .map_err(refused("add a publication"))?;
        self.has_network |= channels.is_network();
        Ok(Port::new(port, sink, source))
    }

    /// One turn. Call it in every turn of the caller's loop, together with the
    /// work of each port. Returns how much was done, 0 when idle.
    pub fn work(&mut self, now: Time) -> usize {
        self.turn = self.turn.wrapping_add(1);
        let mut done = 0;
        if self.has_network
            || self.shared.is_waited_for.take()
            || self.turn.is_multiple_of(TURNS_PER_DRIVER_WORK)
            || now.since(self.last_driver) >= LONGEST_WAIT
        {
            self.last_driver = now;
            done += self.shared.work_driver();
        }
        if self.turn.is_multiple_of(TURNS_PER_CLIENT_WORK)
            || now.since(self.last_client) >= LONGEST_WAIT
        {
            self.last_client = now;
            done += self.shared.work_client();
        }
        done
    }

    /// How long the caller may sleep if it is woken by whatever comes.
    pub const fn longest_wait(&self) -> Duration {
        if self.has_network { LONGEST_WAIT } else { LONGEST_WAIT_IN_MEMORY }
    }

    /// Whether any port is on a network.
    pub const fn has_network(&self) -> bool {
        self.has_network
    }

    /// Descriptors that can be read when something comes to the driver over a
    /// network, to wait for; not those of a driver that is another process.
    /// They come some turns after the ports. The kernel is asked about each
    /// descriptor of the process, some microseconds each.
    pub fn sockets(&self) -> Vec<RawFd> {
        let has_sockets = self.has_network && self.shared.driver.is_some();
        if has_sockets { sockets::datagram_sockets() } else { Vec::new() }
    }

    /// The driver's directory: what an engine in another process of this host
    /// connects to.
    pub fn directory(&self) -> &Path {
        &self.shared.directory
    }

    /// Why this engine is of no use any more; `None` while it works.
    pub fn failure(&self) -> Option<&str> {
        self.shared.failure.get().map(String::as_str)
    }

    /// Takes the last thing that Aeron reported though it goes on, for the log.
    pub fn take_report(&self) -> Option<String> {
        self.shared.reported.take()
    }

    /// What was asked for and this host does not give, as a sentence for the
    /// log.
    pub fn shortfall(&self) -> Option<String> {
        let (window, socket) = self.receiver_bytes;
        let wanted = self.settings.socket_buffer_bytes.max(self.settings.receiver_window_bytes);
        (socket < wanted).then(|| {
            format!(
                "backbone sockets get {socket} of {wanted} bytes and receivers a window of {window}: \
                 raise net.core.rmem_max to survive longer stalls without loss"
            )
        })
    }
}

impl Shared {
    fn work_driver(&self) -> usize {
        let Some(driver) = &self.driver else { return 0 };
        self.done(driver.main_do_work())
    }

    fn work_client(&self) -> usize {
        let done = self.done(self.client.main_do_work());
        if self.client.is_closed() && self.failure.get().is_none() {
            let reported = self.reported.take();
            let cause =
                reported.as_deref().unwrap_or("its driver is gone, or this thread stood still");
            let _ = self.failure.set(format!("Aeron's client is closed: {cause}"));
        }
        done
    }

    fn done(&self, result: Result<i32, AeronCError>) -> usize {
        match result {
            Ok(done) => usize::try_from(done).unwrap_or(0),
            Err(error) => {
                *self.reported.borrow_mut() = Some(words(&error));
                0
            }
        }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        for _ in 0..LAST_TURNS {
            self.work_client();
            self.work_driver();
        }
    }
}

/// Keeps what Aeron reports from outside of calls. Without it, Aeron's client
/// ends the process.
struct KeepReport(Reported);

impl AeronErrorHandlerCallback for KeepReport {
    fn handle_aeron_error_handler(&mut self, code: std::os::raw::c_int, message: &str) {
        *self.0.borrow_mut() = Some(format!("error {code}: {}", one_line(message)));
    }
}

fn connect(
    settings: &EngineSettings,
    directory: &Path,
    reported: Reported,
) -> Result<Aeron, AeronCError> {
    let context = AeronContext::new()?;
    context.set_dir(&c_string(&directory.to_string_lossy()))?;
    context.set_use_conductor_agent_invoker(true)?;
    context.set_keepalive_interval_ns(nanos(settings.keepalive_interval))?;
    context.set_driver_timeout_ms(settings.driver_timeout.as_millis() as u64)?;
    context.set_error_handler(Some(KeepReport(reported)))?;
    let client = Aeron::new(&context)?;
    client.start()?;
    Ok(client)
}

fn failed(action: &'static str, place: &Path, error: &AeronCError) -> BackboneError {
    BackboneError::Aeron {
        action,
        place: place.to_owned(),
        text: error.get_last_err_message().trim().to_owned(),
    }
}

/// What Aeron says about an error.
fn words(error: &AeronCError) -> String {
    one_line(error.get_last_err_message())
}

/// Aeron reports in lines, each with the place in its source where it passed.
///
/// ```text
/// (99) Cannot assign requested address
/// [aeron_bind, aeron_socket.c:93] failed to bind(7, 192.0.2.1:41231)
/// ```
fn one_line(report: &str) -> String {
    let without_place = |line: &'_ str| match line.split_once("] ") {
        Some((place, text)) if place.starts_with('[') => text.trim().to_owned(),
        _ => line.trim().to_owned(),
    };
    let mut lines: Vec<_> = report.lines().map(without_place).collect();
    lines.retain(|line| !line.is_empty() && !line.contains("see message"));
    lines.join("; ")
}

/// Text for C. None of ours has a NUL inside; what has one ends there.
fn c_string(text: &str) -> CString {
    let end = text.find('\0').unwrap_or(text.len());
    CString::new(&text[..end]).unwrap_or_default()
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_becomes_one_line_without_places() {
        let report = "(-11) generic error, see message\n[a, a.c:1] (99) Cannot assign\n\
                      [aeron_bind, aeron_socket.c:93] failed to bind(7, [::1]:41231)\n[b, b.c:2] \n\n";
        assert_eq!(one_line(report), "(99) Cannot assign; failed to bind(7, [::1]:41231)");
        assert_eq!(one_line("plain"), "plain");
        assert_eq!(one_line(""), "");
    }

    #[test]
    fn text_for_c_ends_at_a_nul() {
        assert_eq!(c_string("/dev/shm/x\0y").to_bytes(), b"/dev/shm/x");
    }
}
