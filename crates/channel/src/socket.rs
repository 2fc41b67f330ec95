//! Sockets with their options, as the operating system makes them.

use std::io;
use std::net::SocketAddr;

use mio::net::{TcpListener, TcpStream};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::{ListenConfig, SocketOptions};

/// A listening socket. Buffer sizes are set here already: they decide the
/// window that a connection starts with, and are inherited.
pub(crate) fn listen(address: SocketAddr, config: &ListenConfig) -> io::Result<TcpListener> {
    let socket = tcp(address)?;
    #[cfg(unix)]
    {
        // A restarted server must not wait for connections of its last life.
        socket.set_reuse_address(true)?;
        if config.reuse_port {
            socket.set_reuse_port(true)?;
        }
    }
    set_buffers(&socket, &config.session.socket)?;
    socket.bind(&address.into())?;
    socket.listen(i32::from(config.backlog))?;
    Ok(TcpListener::from_std(socket.into()))
}

/// A socket on its way to `address`.
pub(crate) fn connect(address: SocketAddr, options: &SocketOptions) -> io::Result<TcpStream> {
    let socket = tcp(address)?;
    set_buffers(&socket, options)?;
    socket.set_tcp_nodelay(options.nodelay)?;
    match socket.connect(&address.into()) {
        Err(error) if !is_in_progress(&error) => Err(error),
        _ => Ok(TcpStream::from_std(socket.into())),
    }
}

/// Options that an accepted socket does not inherit everywhere.
pub(crate) fn set_accepted(stream: &TcpStream, options: &SocketOptions) -> io::Result<()> {
    SockRef::from(stream).set_tcp_nodelay(options.nodelay)
}

fn tcp(address: SocketAddr) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

fn set_buffers(socket: &Socket, options: &SocketOptions) -> io::Result<()> {
    if let Some(bytes) = options.send_buffer_bytes {
        socket.set_send_buffer_size(bytes)?;
    }
    if let Some(bytes) = options.recv_buffer_bytes {
        socket.set_recv_buffer_size(bytes)?;
    }
    Ok(())
}

#[cfg(unix)]
fn is_in_progress(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::EINPROGRESS)
}

#[cfg(not(unix))]
fn is_in_progress(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SessionOptions;

    #[test]
    fn options_reach_the_socket() {
        let options = SocketOptions {
            nodelay: false,
            send_buffer_bytes: Some(64_240),
            recv_buffer_bytes: Some(50_000),
        };
        let session = SessionOptions { socket: options, ..SessionOptions::default() };
        let config = ListenConfig { session, ..ListenConfig::default() };
        let listener = listen("127.0.0.1:0".parse().unwrap(), &config).unwrap();
        let client = connect(listener.local_addr().unwrap(), &options).unwrap();
        for socket in [SockRef::from(&client), SockRef::from(&listener)] {
            // Linux doubles what it is told, for its own bookkeeping.
            let send = socket.send_buffer_size().unwrap();
            assert!([64_240, 2 * 64_240].contains(&send), "{send}");
            let recv = socket.recv_buffer_size().unwrap();
            assert!([50_000, 2 * 50_000].contains(&recv), "{recv}");
        }
        for nodelay in [true, false] {
            set_accepted(&client, &SocketOptions { nodelay, ..options }).unwrap();
            assert_eq!(SockRef::from(&client).tcp_nodelay().unwrap(), nodelay);
        }
    }
}
