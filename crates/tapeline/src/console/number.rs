//! Numbers for people.

/// A number with blanks between its thousands, as in `1 234 567`.
pub(crate) fn rate(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_apart() {
        let texts = [0, 999, 1000, 1_234_567].map(rate);
        assert_eq!(texts, ["0", "999", "1 000", "1 234 567"]);
    }
}
