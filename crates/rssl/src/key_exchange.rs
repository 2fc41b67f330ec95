//! The Diffie-Hellman exchange of RIPC 14 over 63-bit numbers. The key it
//! gives encrypts nothing on the wire; it is handed to the application.

use crate::random::Random;

/// The generator that servers send.
pub(crate) const GENERATOR: u64 = 5;

/// Bases that make Miller-Rabin exact below 2^64.
const WITNESSES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

fn multiply(a: u64, b: u64, modulus: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(modulus)) as u64
}

/// `base^exponent mod modulus`; 0 for a modulus of 0, which only a broken peer
/// sends.
pub(crate) fn power(base: u64, mut exponent: u64, modulus: u64) -> u64 {
    if modulus < 2 {
        return 0;
    }
    let mut square = base % modulus;
    let mut result = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, square, modulus);
        }
        square = multiply(square, square, modulus);
        exponent >>= 1;
    }
    result
}

/// Whether an odd number above 37 is prime.
fn is_prime(n: u64) -> bool {
    if WITNESSES.iter().any(|small| n.is_multiple_of(*small)) {
        return false;
    }
    let twos = (n - 1).trailing_zeros();
    let odd = (n - 1) >> twos;
    WITNESSES.iter().all(|witness| {
        let mut x = power(*witness, odd, n);
        if x == 1 || x == n - 1 {
            return true;
        }
        for _ in 1..twos {
            x = multiply(x, x, n);
            if x == n - 1 {
                return true;
            }
        }
        false
    })
}

/// A prime below 2^63 and at least 2^60. Every tenth number or so of this
/// size that the sieve of small factors lets through is prime; the search
/// cannot run away because gaps between primes below 2^64 are under 1,600.
pub(crate) fn prime(random: &mut Random) -> u64 {
    let mut candidate = (random.next_u64() >> 4) | (1 << 60) | 1;
    while !is_prime(candidate) {
        candidate += 2;
    }
    candidate
}

/// A positive number below 2^63.
pub(crate) fn secret(random: &mut Random) -> u64 {
    (random.next_u64() >> 1).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_get_one_key() {
        let mut random = Random::new(7);
        for _ in 0..20 {
            let modulus = prime(&mut random);
            let (server, client) = (secret(&mut random), secret(&mut random));
            let sent_by_server = power(GENERATOR, server, modulus);
            let sent_by_client = power(GENERATOR, client, modulus);
            assert_eq!(
                power(sent_by_client, server, modulus),
                power(sent_by_server, client, modulus)
            );
            assert!(modulus < 1 << 63);
        }
    }

    #[test]
    fn primality_is_exact_on_known_numbers() {
        // Largest prime below 2^63, the strong
        // pseudoprime to the first nine prime bases, a Carmichael number.
        assert!(is_prime(9_223_372_036_854_775_783));
        assert!(!is_prime(3_825_123_056_546_413_051));
        assert!(!is_prime(56_052_361));
        assert!(is_prime(41));
    }

    #[test]
    fn a_peers_zero_modulus_is_harmless() {
        assert_eq!(power(5, 3, 0), 0);
        assert_eq!(power(5, 3, 1), 0);
    }
}
