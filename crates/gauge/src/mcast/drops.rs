//! What a socket's own queue dropped, and which groups this host is in: tables
//! of the kernel.

use std::fs;

/// Messages that the queue of a socket dropped, by its inode.
pub(super) fn dropped(inode: u64) -> Option<u64> {
    ["/proc/net/udp", "/proc/net/udp6"]
        .iter()
        .find_map(|path| drops_of(&fs::read_to_string(path).ok()?, inode))
}

/// The last column of the socket's line.
fn drops_of(text: &str, inode: u64) -> Option<u64> {
    let inode = inode.to_string();
    text.lines().skip(1).find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        (words.get(9) == Some(&inode.as_str())).then(|| words.last()?.parse().ok())?
    })
}

/// Interfaces on which this host is in a group.
pub(super) fn memberships(group: std::net::Ipv4Addr) -> Vec<String> {
    members(&fs::read_to_string("/proc/net/igmp").unwrap_or_default(), group)
}

fn members(text: &str, group: std::net::Ipv4Addr) -> Vec<String> {
    // In the order of the host's bytes.
    let wanted = format!("{:08X}", u32::from_le_bytes(group.octets()));
    let (mut interface, mut all) = (String::new(), Vec::new());
    for line in text.lines().skip(1) {
        match line.starts_with(['\t', ' ']) {
            false => {
                let named = line.split_whitespace().nth(1).unwrap_or_default();
                named.trim_end_matches(':').clone_into(&mut interface);
            }
            true if line.split_whitespace().next() == Some(&wanted) => all.push(interface.clone()),
            true => {}
        }
    }
    all
}

/// Whether the kernel drops what comes from where it would not answer to.
pub(super) fn reverse_path_filter(interface: &str) -> Option<String> {
    let path = format!("/proc/sys/net/ipv4/conf/{interface}/rp_filter");
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two sockets, with inodes 12345 and 99.
    const UDP: &str = "   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   \
        uid  timeout inode ref pointer drops\n  \
        277: 00000000:A4EE 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 \
        12345 2 0000000000000000 17\n  \
        278: 00000000:A4EF 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 \
        99 2 0000000000000000 0\n";

    #[test]
    fn drops_are_those_of_the_own_socket() {
        assert_eq!(
            (drops_of(UDP, 12_345), drops_of(UDP, 99), drops_of(UDP, 1)),
            (Some(17), Some(0), None)
        );
    }

    #[test]
    fn memberships_are_told_by_interface() {
        let text = "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n\
1\tlo        :     1      V3\n\t\t\t\t010000E0     1 0:00000000\t\t0\n\
2\teth0      :     2      V3\n\t\t\t\t010101EF     1 0:00000000\t\t0\n";
        assert_eq!(members(text, "239.1.1.1".parse().unwrap()), ["eth0"]);
        assert_eq!(members(text, "224.0.0.1".parse().unwrap()), ["lo"]);
    }
}
