//! What is in a block: its number, a checksum, and data that do not repeat, all
//! of which follow from the number.
//!
//! ```text
//!   0         8          16
//!   ├ number ─┼ checksum ┼─ pseudo-random …
//!     u64       u64        of the number       little endian
//! ```

/// Bytes of the number and the checksum; a shorter block has data alone.
const FRONT_BYTES: usize = 16;

fn mixed(mut z: u64) -> u64 {
    // SplitMix64.
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// Fills a block.
pub(super) fn fill(block: &mut [u8], number: u64) {
    let (front, data) = block.split_at_mut(FRONT_BYTES.min(block.len()));
    let (mut state, mut sum) = (number.wrapping_mul(0xD134_2543_DE82_EF95), 0_u64);
    for word in data.chunks_mut(8) {
        state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let bytes = mixed(state).to_le_bytes();
        word.copy_from_slice(&bytes[..word.len()]);
        sum = mixed(sum ^ state);
    }
    if front.len() == FRONT_BYTES {
        front[..8].copy_from_slice(&number.to_le_bytes());
        front[8..].copy_from_slice(&mixed(sum ^ number).to_le_bytes());
    } else {
        front.fill(number as u8);
    }
}

/// Whether a block is the one of this number, byte for byte.
pub(super) fn is_whole(block: &[u8], number: u64, scratch: &mut Vec<u8>) -> bool {
    scratch.resize(block.len(), 0);
    fill(scratch, number);
    scratch == block
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flipped_bit_anywhere_is_found() {
        for length in [1, 15, 16, 17, 512, 4096] {
            let (mut block, mut scratch) = (vec![0; length], Vec::new());
            fill(&mut block, 77);
            assert!(is_whole(&block, 77, &mut scratch));
            assert!(!is_whole(&block, 78, &mut scratch));
            for at in [0, length / 2, length - 1] {
                block[at] ^= 0x10;
                assert!(!is_whole(&block, 77, &mut scratch), "{length} {at}");
                block[at] ^= 0x10;
            }
        }
    }

    #[test]
    fn blocks_do_not_repeat() {
        let (mut a, mut b) = (vec![0; 4096], vec![0; 4096]);
        fill(&mut a, 1);
        fill(&mut b, 2);
        let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
        assert!(equal < 100, "{equal} bytes are the same");
    }
}
