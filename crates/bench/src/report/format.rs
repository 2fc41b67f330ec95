//! Figures as text, and text as markup.

/// Text that stands for itself in an element or an attribute.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            '\n' | '\t' => escaped.push(char),
            // No document may have these in it.
            _ if char.is_control() || matches!(char, '\u{fffe}' | '\u{ffff}') => {
                escaped.push('\u{fffd}');
            }
            _ => escaped.push(char),
        }
    }
    escaped
}

/// A whole number with commas: `1,650,000`.
pub(super) fn whole(number: f64) -> String {
    if !number.is_finite() {
        return "–".to_owned();
    }
    let digits = format!("{:.0}", number.abs());
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if number <= -0.5 { format!("−{text}") } else { text }
}

/// Nanoseconds as microseconds, to three digits: `4.21`, `42.1`, `421`.
pub(super) fn micros(nanos: f64) -> String {
    three_digits(nanos / 1e3)
}

/// Three digits, or all before the point.
pub(super) fn three_digits(number: f64) -> String {
    match number.abs() {
        _ if !number.is_finite() => "–".to_owned(),
        ..9.995 => format!("{number:.2}"),
        ..99.95 => format!("{number:.1}"),
        _ => whole(number),
    }
}

/// A number for an axis: `500`, `50k`, `1.5M`.
pub(super) fn short(number: f64) -> String {
    let (scaled, unit) = match number.abs() {
        1e9.. => (number / 1e9, "G"),
        1e6.. => (number / 1e6, "M"),
        1e3.. => (number / 1e3, "k"),
        _ => (number, ""),
    };
    let text = format!("{scaled:.3}");
    format!("{}{unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

/// How many times the floor.
pub(super) fn ratio(ours: f64, floor: f64) -> String {
    match floor > 0.0 {
        true => format!("{} ×", three_digits(ours / floor)),
        false => "–".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_text() {
        assert_eq!(escape(r#"<a b='c'>&"\0"#), "&lt;a b=&#39;c&#39;&gt;&amp;&quot;\\0");
        assert_eq!(escape("µ\u{0}\u{1b}x\ny"), "µ\u{fffd}\u{fffd}x\ny");
    }

    #[test]
    fn numbers_have_commas() {
        let numbers = [0.0, 999.4, 1000.0, 999_999.6, 12_345_678.0, -1234.0, f64::NAN];
        let expected = ["0", "999", "1,000", "1,000,000", "12,345,678", "−1,234", "–"];
        assert_eq!(numbers.map(whole), expected);
    }

    #[test]
    fn durations_have_three_digits() {
        let nanos = [4.0, 4_214.0, 9_996.0, 42_140.0, 99_960.0, 421_400.0, 25_292_000.0];
        let expected = ["0.00", "4.21", "10.0", "42.1", "100", "421", "25,292"];
        assert_eq!(nanos.map(micros), expected);
    }

    #[test]
    fn axes_have_short_numbers() {
        let numbers = [0.0, 0.5, 20.0, 1000.0, 150_000.0, 1_650_000.0, 2e9];
        assert_eq!(numbers.map(short), ["0", "0.5", "20", "1k", "150k", "1.65M", "2G"]);
    }

    #[test]
    fn a_ratio_needs_a_floor() {
        assert_eq!(ratio(10.0, 4.0), "2.50 ×");
        assert_eq!(ratio(10.0, 0.0), "–");
        assert_eq!(ratio(10.0, f64::NAN), "–");
    }
}
