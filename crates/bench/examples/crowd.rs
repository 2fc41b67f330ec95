//! Many users over JSON who cost little: what is measured with them is the server, not
//! them.
//!
//! ```text
//! cargo build --release -p tapeline-bench --example crowd
//! target/release/examples/crowd 127.0.0.1:15000 --users 1000 --items 100000 --each 500
//! ```
//!
//! Each user has a connection, logs in as `user0`, `user1`, …, and opens items when a line
//! comes in: in one batch, on the same streams each time. Answers are lines, in
//! nanoseconds of the host's monotonic clock:
//!
//! | line | |
//! |---|---|
//! | `ready` | all are logged in |
//! | `images T` | the last user had an image on each stream at `T` |
//! | `over T` | the last stream of the last user ended at `T` |
//!
//! Messages are counted where the kernel has put them, by the words that only they have.
//! The program ends with its input.

use std::io::{self, BufRead, Read, Write};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::Duration;

use clap::Parser;
use memchr::memmem;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use tapeline_measure::clock::now_ns;

/// Bytes of a read.
const READ_BYTES: usize = 256 << 10;

/// How long sockets are waited for before the input is looked at.
const WAIT: Duration = Duration::from_millis(20);

/// The stream of a batch, whose items are on those behind it.
const BATCH_ID: usize = 9;

/// How an answer to the handshake ends.
const HANDSHAKE_END: &[u8] = b"\r\n\r\n";

/// What only an image has, the end of a stream, and a ping.
const IMAGE: &[u8] = b"\"Type\":\"Refresh\"";
const OVER: &[u8] = b"\"Stream\":\"Closed\"";
const PING: &[u8] = b"\"Type\":\"Ping\"";
const LONGEST_PING_BYTES: usize = 64;

#[derive(Parser)]
struct Arguments {
    /// The WebSocket listener of a server.
    address: SocketAddr,
    /// Users, each with a connection of its own.
    #[arg(long, default_value_t = 1_000)]
    users: usize,
    /// Items of the service, which users take in turn.
    #[arg(long, default_value_t = 100_000)]
    items: usize,
    /// Items of each user.
    #[arg(long, default_value_t = 500)]
    each: usize,
    /// Their service.
    #[arg(long, default_value = "FEED")]
    service: String,
}

/// One user.
struct User {
    socket: TcpStream,
    /// The first bytes of a frame whose other ones have not come.
    begun: Vec<u8>,
    is_connected: bool,
    is_logged_in: bool,
    images: usize,
    over: usize,
}

impl User {
    fn connect(address: SocketAddr, number: usize) -> io::Result<Self> {
        let socket = std::net::TcpStream::connect(address)?;
        socket.set_nodelay(true)?;
        socket.set_nonblocking(true)?;
        let socket = TcpStream::from_std(socket);
        let mut user = Self {
            socket,
            begun: Vec::new(),
            is_connected: false,
            is_logged_in: false,
            images: 0,
            over: 0,
        };
        let handshake = "GET /WebSocket HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\n\
                         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
                         Sec-WebSocket-Protocol: tr_json2\r\n\
                         Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n";
        user.write(handshake.as_bytes())?;
        user.say(&format!(
            "{{\"ID\":1,\"Domain\":\"Login\",\"Key\":{{\"Name\":\"user{number}\",\
             \"Elements\":{{\"ApplicationId\":\"256\",\"Position\":\"here\"}}}}}}"
        ))?;
        Ok(user)
    }

    /// Sends a text, masked with zeros.
    fn say(&mut self, text: &str) -> io::Result<()> {
        let mut frame = vec![0x81];
        match text.len() {
            short @ 0..126 => frame.push(0x80 | short as u8),
            long if u16::try_from(long).is_ok() => {
                frame.push(0xFE);
                frame.extend((long as u16).to_be_bytes());
            }
            longer => {
                frame.push(0xFF);
                frame.extend((longer as u64).to_be_bytes());
            }
        }
        frame.extend([0; 4]);
        frame.extend(text.as_bytes());
        self.write(&frame)
    }

    /// Waits for room: what comes meanwhile waits in the kernel.
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            match self.socket.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::yield_now(),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn open(&mut self, names: impl Iterator<Item = usize>, service: &str) -> io::Result<()> {
        (self.images, self.over) = (0, 0);
        let names: Vec<_> = names.map(|item| format!("\"ITEM{item}\"")).collect();
        let names = names.join(",");
        self.say(&format!(
            "{{\"ID\":{BATCH_ID},\"Key\":{{\"Service\":\"{service}\",\"Name\":[{names}]}}}}"
        ))
    }

    /// Reads what there is, and takes note of it.
    fn read(&mut self, room: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let start = self.begun.len();
            room.resize((start + READ_BYTES).max(room.len()), 0);
            let count = match self.socket.read(&mut room[start..start + READ_BYTES]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error),
            };
            room[..start].copy_from_slice(&self.begun);
            self.begun.clear();
            self.take(&room[..start + count])?;
        }
    }

    fn take(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        if !self.is_connected {
            let end = bytes.windows(HANDSHAKE_END.len()).position(|it| it == HANDSHAKE_END);
            let Some(end) = end else {
                self.begun.extend_from_slice(bytes);
                return Ok(());
            };
            self.is_connected = true;
            bytes = &bytes[end + HANDSHAKE_END.len()..];
        }
        while let Some((text, behind)) = frame(bytes) {
            bytes = behind;
            self.note(text)?;
        }
        self.begun.extend_from_slice(bytes);
        Ok(())
    }

    /// A frame has one message, or several of them.
    fn note(&mut self, text: &[u8]) -> io::Result<()> {
        let count = |what: &[u8]| memmem::find_iter(text, what).count();
        if text.len() <= LONGEST_PING_BYTES && count(PING) > 0 {
            return self.say("{\"Type\":\"Pong\"}");
        }
        self.over += count(OVER);
        let images = count(IMAGE);
        // The first one is that of the login.
        self.images += images - usize::from(images > 0 && !self.is_logged_in);
        self.is_logged_in |= images > 0;
        Ok(())
    }
}

/// The first frame of these bytes, if all of it is there: its text, and what is behind it.
fn frame(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (head, length) = match *bytes {
        [_, short @ 0..126, ..] => (2, usize::from(short)),
        [_, 126, high, low, ..] => (4, usize::from(u16::from_be_bytes([high, low]))),
        [_, 127, _, _, _, _, a, b, c, d, ..] => (10, u32::from_be_bytes([a, b, c, d]) as usize),
        _ => return None,
    };
    bytes.get(head..)?.split_at_checked(length)
}

/// All of them, and what was told of them.
struct Crowd {
    users: Vec<User>,
    poll: Poll,
    room: Vec<u8>,
    arguments: Arguments,
    told_images: bool,
    told_over: bool,
}

impl Crowd {
    fn connect(arguments: Arguments) -> io::Result<Self> {
        let poll = Poll::new()?;
        let mut users = Vec::new();
        for number in 0..arguments.users {
            let mut user = User::connect(arguments.address, number)?;
            poll.registry().register(&mut user.socket, Token(number), Interest::READABLE)?;
            users.push(user);
        }
        Ok(Self { users, poll, room: Vec::new(), arguments, told_images: true, told_over: true })
    }

    /// Reads until the input ends.
    fn run(&mut self, input: &Receiver<()>) -> io::Result<()> {
        let mut events = Events::with_capacity(1_024);
        let mut was_ready = false;
        loop {
            match input.try_recv() {
                Ok(()) => self.open()?,
                Err(TryRecvError::Empty) => {}
                Err(TryRecvError::Disconnected) => return Ok(()),
            }
            self.poll.poll(&mut events, Some(WAIT))?;
            for event in &events {
                let number = event.token().0;
                let Some(user) = self.users.get_mut(number) else { continue };
                user.read(&mut self.room).map_err(|error| {
                    io::Error::new(error.kind(), format!("user{number}: {error}"))
                })?;
            }
            if !was_ready && self.users.iter().all(|user| user.is_logged_in) {
                was_ready = true;
                println!("ready");
            }
            self.tell();
        }
    }

    fn open(&mut self) -> io::Result<()> {
        let Arguments { items, each, service, .. } = &self.arguments;
        for (number, user) in self.users.iter_mut().enumerate() {
            let first = number * each;
            user.open((first..first + each).map(|item| item % items), service)?;
        }
        (self.told_images, self.told_over) = (false, false);
        Ok(())
    }

    fn tell(&mut self) {
        let each = self.arguments.each;
        if !self.told_images && self.users.iter().all(|user| user.images >= each) {
            self.told_images = true;
            println!("images {}", now_ns());
        }
        // The stream of the batch ends as well.
        if !self.told_over && self.users.iter().all(|user| user.over > each) {
            self.told_over = true;
            println!("over {}", now_ns());
        }
    }
}

fn main() -> io::Result<()> {
    let (sender, input) = channel();
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            if line.is_err() || sender.send(()).is_err() {
                return;
            }
        }
    });
    Crowd::connect(Arguments::parse())?.run(&input)
}
