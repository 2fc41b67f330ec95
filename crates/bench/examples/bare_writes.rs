//! The floor of a fan-out: the same bytes, written to as many sockets one behind the
//! other, by a loop that does nothing else.
//!
//! ```text
//! target/release/examples/bare_writes --peers 10000 --bytes 120
//! ```
//!
//! Prints where it listens; for each line of its input it writes so many bytes to each of
//! those who have connected, once there are so many. It ends with its input.

use std::io::{self, BufRead, Write};
use std::net::TcpListener;

use clap::Parser;

#[derive(Parser)]
struct Arguments {
    /// How many connect.
    #[arg(long)]
    peers: usize,
    /// Bytes of a write.
    #[arg(long)]
    bytes: usize,
}

fn main() -> io::Result<()> {
    let Arguments { peers, bytes } = Arguments::parse();
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?);
    let mut sockets = Vec::with_capacity(peers);
    while sockets.len() < peers {
        let (socket, _) = listener.accept()?;
        socket.set_nodelay(true)?;
        sockets.push(socket);
    }
    let message = vec![0; bytes];
    for line in io::stdin().lock().lines() {
        line?;
        for socket in &mut sockets {
            socket.write_all(&message)?;
        }
    }
    Ok(())
}
