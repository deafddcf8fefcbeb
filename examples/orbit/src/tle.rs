//! Parses two-line elements (TLE), the format in which orbits are published. Errors name the line.

use sgp4::Elements;

/// Characters of a line; the last one is the checksum.
const LINE_CHARS: usize = 69;

/// The error for an invalid TLE.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tle: {0}; expected the two lines of a TLE, each with 69 characters and a checksum, and optionally a line with the satellite's name before them"
)]
pub struct TleError(String);

/// Parses two lines, or three if the first is a name.
pub(crate) fn parse(tle: &str) -> Result<Elements, TleError> {
    let lines: Vec<&str> = tle.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let [.., one, two] = lines[..] else {
        return Err(TleError(format!("{} lines are not enough", lines.len())));
    };
    if lines.len() > 3 {
        return Err(TleError(format!("{} lines are more than one TLE has", lines.len())));
    }
    for (number, line) in [('1', one), ('2', two)] {
        check(number, line).map_err(|problem| TleError(format!("line {number} {problem}")))?;
    }
    Elements::from_tle(None, one.as_bytes(), two.as_bytes()).map_err(|error| TleError(error.to_string()))
}

/// Checks what the parser does not check, or reports less clearly.
fn check(number: char, line: &str) -> Result<(), String> {
    if let Some(character) = line.chars().find(|next| !next.is_ascii()) {
        return Err(format!("has {character:?} in it, but should be plain ASCII"));
    }
    if line.len() != LINE_CHARS {
        return Err(format!("has {} characters, but should have {LINE_CHARS}", line.len()));
    }
    if !line.starts_with(number) {
        return Err(format!("should begin with {number}"));
    }
    let (body, last) = line.split_at(LINE_CHARS - 1);
    let value = |byte: u8| match byte {
        b'-' => 1,
        digit if digit.is_ascii_digit() => u32::from(digit - b'0'),
        _ => 0,
    };
    let sum = body.bytes().map(value).sum::<u32>() % 10;
    if last != sum.to_string() {
        return Err(format!("ends with the checksum {last:?}, but the checksum of its characters is {sum}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ISS, VANGUARD};

    fn problem(tle: &str) -> String {
        let message = parse(tle).unwrap_err().to_string();
        let (problem, expected) = message.split_once("; expected ").unwrap();
        assert!(expected.starts_with("the two lines of a TLE, each with 69 characters"), "{message}");
        problem.to_owned()
    }

    #[test]
    fn a_tle_parses_with_and_without_a_name() {
        assert_eq!((parse(ISS).unwrap().norad_id, parse(VANGUARD).unwrap().norad_id), (25544, 5));
        let (_, bare) = ISS.split_once('\n').unwrap();
        assert_eq!(
            parse(&format!("\r\n  {}\r\n\r\n", bare.replace('\n', "  \r\n"))).unwrap(),
            parse(ISS).unwrap()
        );
    }

    #[test]
    fn errors_name_the_line() {
        let lines: Vec<&str> = ISS.lines().collect();
        let (one, two) = (lines[1], lines[2]);
        assert_eq!(problem(""), "tle: 0 lines are not enough");
        assert_eq!(problem(one), "tle: 1 lines are not enough");
        assert_eq!(problem(&[ISS, ISS].join("\n")), "tle: 6 lines are more than one TLE has");
        assert_eq!(problem(&format!("{two}\n{one}")), "tle: line 1 should begin with 1");
        assert_eq!(
            problem(&format!("{}\n{two}", &one[..60])),
            "tle: line 1 has 60 characters, but should have 69"
        );
        assert_eq!(
            problem(&format!("{one}\n{}", two.replace("51.6", "51.7"))),
            "tle: line 2 ends with the checksum \"7\", but the checksum of its characters is 8"
        );
        assert_eq!(
            problem(&format!("{one}\n{}x", &two[..68])),
            "tle: line 2 ends with the checksum \"x\", but the checksum of its characters is 7"
        );
        assert_eq!(
            problem(&format!("{one}\n{}", two.replace("51.6", "51.６"))),
            "tle: line 2 has '６' in it, but should be plain ASCII"
        );
        let other = VANGUARD.lines().nth(2).unwrap();
        assert_eq!(
            problem(&format!("{one}\n{other}")),
            "tle: TLE parse error: NORAD mismatch between TLE lines (TLE lines mismatch) between characters 2 and 7"
        );
    }
}
