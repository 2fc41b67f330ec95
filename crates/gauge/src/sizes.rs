//! Message sizes as sfnt-pingpong takes them.

use crate::GaugeError;

/// The longest list.
const MAX_SIZES: usize = 4096;

/// The longest message of a stream, in bytes.
pub(crate) const MAX_STREAM_BYTES: usize = (1 << 20) - 1;

/// The longest UDP message over IPv4, in bytes.
pub(crate) const MAX_DATAGRAM_BYTES: usize = 65_507;

/// Reads `a,b`, `lo-hi`, `lo-hi+step` and `lo-hixfactor`, in any mixture.
pub(crate) fn parse(text: &str, largest: usize) -> Result<Vec<usize>, GaugeError> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let wrong = || GaugeError::option("sizes", part, "give a,b lo-hi lo-hi+step lo-hixfactor");
        let number = |text: &str| text.trim().parse::<usize>().map_err(|_| wrong());
        let Some((low, rest)) = part.split_once('-') else {
            all.push(number(part)?);
            continue;
        };
        let low = number(low)?;
        let (high, step): (usize, Step) = match (rest.split_once('+'), rest.split_once('x')) {
            (Some((high, step)), _) => (number(high)?, Step::Add(number(step)?)),
            (_, Some((high, factor))) => (number(high)?, Step::Times(number(factor)?)),
            _ => (number(rest)?, Step::Add(1)),
        };
        if low > high || !step.leads_on(low) {
            return Err(wrong());
        }
        let mut size = low;
        while size <= high && all.len() <= MAX_SIZES {
            all.push(size);
            size = step.after(size);
        }
    }
    let too_large = all.iter().find(|size| **size > largest);
    match too_large {
        Some(size) => Err(GaugeError::option(
            "sizes",
            &size.to_string(),
            &format!("the longest message of this transport has {largest} bytes"),
        )),
        None if all.len() > MAX_SIZES => {
            Err(GaugeError::option("sizes", text, "at most 4096 sizes"))
        }
        None => Ok(all),
    }
}

#[derive(Clone, Copy)]
enum Step {
    Add(usize),
    Times(usize),
}

impl Step {
    fn leads_on(self, from: usize) -> bool {
        self.after(from) > from
    }

    fn after(self, size: usize) -> usize {
        match self {
            Self::Add(step) => size.saturating_add(step),
            Self::Times(factor) => size.saturating_mul(factor),
        }
    }
}

/// What is measured without `--sizes`: powers of two, for datagrams also
/// nothing, and both sides of what an Ethernet frame holds.
pub(crate) fn defaults(is_stream: bool, min: usize, max: usize) -> Vec<usize> {
    let powers = |first: u32, last: u32| (first..=last).map(|power| 1_usize << power);
    let all: Vec<usize> = match is_stream {
        true => powers(0, 16).collect(),
        false => {
            [0].into_iter().chain(powers(0, 10)).chain([1472, 1473]).chain(powers(11, 15)).collect()
        }
    };
    let is_wanted = |size: &usize| *size >= min && (max == 0 || *size <= max);
    all.into_iter().filter(is_wanted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_read() {
        let of = |text| parse(text, MAX_STREAM_BYTES).unwrap();
        assert_eq!(of("1,64,1024"), [1, 64, 1024]);
        assert_eq!(of("3-6"), [3, 4, 5, 6]);
        assert_eq!(of("0-100+40"), [0, 40, 80]);
        assert_eq!(of("1-100x4"), [1, 4, 16, 64]);
        assert_eq!(of("7,1-4x2,9"), [7, 1, 2, 4, 9]);
    }

    #[test]
    fn what_is_no_list_is_told() {
        for wrong in ["", "a", "5-1", "0-9x2", "1-9x1", "1-9+0", "-1", "1-5000"] {
            let error = parse(wrong, MAX_STREAM_BYTES).unwrap_err().to_string();
            assert!(error.starts_with("--sizes "), "{wrong}: {error}");
        }
        let error = parse("65508", MAX_DATAGRAM_BYTES).unwrap_err().to_string();
        assert!(error.contains("has 65507 bytes"), "{error}");
    }

    #[test]
    fn streams_have_17_sizes_and_datagrams_19() {
        let streams = defaults(true, 0, 0);
        assert_eq!((streams.len(), streams[0], streams[16]), (17, 1, 65_536));
        let datagrams = defaults(false, 0, 0);
        assert_eq!((datagrams.len(), datagrams[0], datagrams[18]), (19, 0, 32_768));
        assert!(datagrams.windows(2).any(|pair| pair == [1472, 1473]), "{datagrams:?}");
        assert_eq!(defaults(true, 3, 20), [4, 8, 16]);
    }
}
