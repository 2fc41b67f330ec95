//! The sockets that the driver has opened in this process.
//!
//! Aeron does not tell. The kernel does, by the number of the socket (its
//! inode):
//!
//! ```text
//!   /proc/self/fd/17      -> socket:[4242]
//!   /proc/self/net/udp       ... 4242 ...
//! ```

use std::collections::HashSet;
use std::fs;
use std::os::fd::RawFd;

/// The column of the inode in `/proc/net/udp` (proc(5)).
const INODE_COLUMN: usize = 9;

/// All UDP sockets of this process; none where the kernel does not tell.
pub(super) fn datagram_sockets() -> Vec<RawFd> {
    let tables = ["/proc/self/net/udp", "/proc/self/net/udp6"];
    let texts = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
    let inodes: HashSet<u64> = texts.iter().flat_map(|text| inodes(text)).collect();
    let Ok(entries) = fs::read_dir("/proc/self/fd") else { return Vec::new() };
    let entries = entries.flatten().filter_map(|entry| {
        let inode = socket_inode(fs::read_link(entry.path()).ok()?.to_str()?)?;
        let descriptor = entry.file_name().to_str()?.parse().ok()?;
        inodes.contains(&inode).then_some(descriptor)
    });
    entries.collect()
}

/// The sockets of a table, whose first line is a heading.
fn inodes(table: &str) -> impl Iterator<Item = u64> {
    table.lines().skip(1).filter_map(|line| line.split_whitespace().nth(INODE_COLUMN)?.parse().ok())
}

/// The number in `socket:[4242]`.
fn socket_inode(link: &str) -> Option<u64> {
    link.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn a_table_is_read_by_its_columns() {
        let table = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
                     uid  timeout inode ref pointer drops\n\
                     1234: 0100007F:A1B2 00000000:0000 07 00000000:00000000 00:00000000 00000000  \
                     1000        0 4242 2 0000000000000000 0\n\
                     cut: off\n";
        assert_eq!(inodes(table).collect::<Vec<_>>(), [4242]);
        assert_eq!(socket_inode("socket:[4242]"), Some(4242));
        for other in ["pipe:[4242]", "socket:[4242", "socket:[x]", "/dev/null"] {
            assert_eq!(socket_inode(other), None, "{other}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn datagram_sockets_are_found_and_others_are_not() {
        let sockets = ["127.0.0.1:0", "[::1]:0"].map(UdpSocket::bind);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let found = datagram_sockets();
        for socket in sockets.into_iter().flatten() {
            assert!(found.contains(&socket.as_raw_fd()));
        }
        assert!(!found.contains(&listener.as_raw_fd()));
    }
}
