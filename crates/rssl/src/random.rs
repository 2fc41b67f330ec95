/// `SplitMix64`: the source of key exchange numbers, WebSocket keys and masks.
///
/// None of these protects anything: the shared key encrypts nothing on the
/// wire, and masks only keep confused proxies from caching. So a small,
/// reproducible generator is right here; secrecy is the task of TLS below.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Another generator, with numbers of its own.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next_u64())
    }

    pub(crate) fn next_bytes4(&mut self) -> [u8; 4] {
        (self.next_u64() as u32).to_be_bytes()
    }

    pub(crate) fn next_bytes16(&mut self) -> [u8; 16] {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.next_u64().to_be_bytes());
        bytes[8..].copy_from_slice(&self.next_u64().to_be_bytes());
        bytes
    }
}
