//! Two-line elements: an orbit as it is published. What is wrong with one is told by line and character.

use sgp4::Elements;

/// Characters of a line, the last of which is its checksum.
const LINE: usize = 69;

/// Why something is no TLE.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "tle: {0}. It takes the two lines of a TLE, of 69 characters each and with their checksums, or three with the satellite's name first, each on a line of its own"
)]
pub struct TleError(String);

/// Reads two lines, or three of which the first is a name.
pub(crate) fn read(tle: &str) -> Result<Elements, TleError> {
    let lines: Vec<&str> = tle.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let [.., one, two] = lines[..] else {
        return Err(TleError(format!("{} lines are not enough", lines.len())));
    };
    if lines.len() > 3 {
        return Err(TleError(format!("{} lines are more than one TLE has", lines.len())));
    }
    for (number, line) in [('1', one), ('2', two)] {
        check(number, line).map_err(|mistake| TleError(format!("line {number} {mistake}")))?;
    }
    Elements::from_tle(None, one.as_bytes(), two.as_bytes()).map_err(|error| TleError(error.to_string()))
}

/// Checks what the parser takes for granted, or tells in fewer words.
fn check(number: char, line: &str) -> Result<(), String> {
    if let Some(strange) = line.chars().find(|character| !character.is_ascii()) {
        return Err(format!("has {strange:?} in it, but should be plain ASCII"));
    }
    if line.len() != LINE {
        return Err(format!("has {} characters, but should have {LINE}", line.len()));
    }
    if !line.starts_with(number) {
        return Err(format!("should begin with {number}"));
    }
    let (body, last) = line.split_at(LINE - 1);
    let worth = |byte: u8| match byte {
        b'-' => 1,
        digit if digit.is_ascii_digit() => u32::from(digit - b'0'),
        _ => 0,
    };
    let sum = body.bytes().map(worth).sum::<u32>() % 10;
    if last != sum.to_string() {
        return Err(format!("ends with the checksum {last:?}, but the checksum of its characters is {sum}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ISS, VANGUARD};

    fn refused(tle: &str) -> String {
        let told = read(tle).unwrap_err().to_string();
        let (mistake, accepted) = told.split_once(". It takes ").unwrap();
        assert!(accepted.starts_with("the two lines of a TLE, of 69 characters"), "{told}");
        mistake.to_owned()
    }

    #[test]
    fn real_sets_are_read_with_and_without_a_name() {
        assert_eq!((read(ISS).unwrap().norad_id, read(VANGUARD).unwrap().norad_id), (25544, 5));
        let (_, bare) = ISS.split_once('\n').unwrap();
        assert_eq!(
            read(&format!("\r\n  {}\r\n\r\n", bare.replace('\n', "  \r\n"))).unwrap(),
            read(ISS).unwrap()
        );
    }

    #[test]
    fn what_is_wrong_is_told_by_line() {
        let lines: Vec<&str> = ISS.lines().collect();
        let (one, two) = (lines[1], lines[2]);
        assert_eq!(refused(""), "tle: 0 lines are not enough");
        assert_eq!(refused(one), "tle: 1 lines are not enough");
        assert_eq!(refused(&[ISS, ISS].join("\n")), "tle: 6 lines are more than one TLE has");
        assert_eq!(refused(&format!("{two}\n{one}")), "tle: line 1 should begin with 1");
        assert_eq!(
            refused(&format!("{}\n{two}", &one[..60])),
            "tle: line 1 has 60 characters, but should have 69"
        );
        assert_eq!(
            refused(&format!("{one}\n{}", two.replace("51.6", "51.7"))),
            "tle: line 2 ends with the checksum \"7\", but the checksum of its characters is 8"
        );
        assert_eq!(
            refused(&format!("{one}\n{}x", &two[..68])),
            "tle: line 2 ends with the checksum \"x\", but the checksum of its characters is 7"
        );
        assert_eq!(
            refused(&format!("{one}\n{}", two.replace("51.6", "51.６"))),
            "tle: line 2 has '６' in it, but should be plain ASCII"
        );
        let other = VANGUARD.lines().nth(2).unwrap();
        assert_eq!(
            refused(&format!("{one}\n{other}")),
            "tle: TLE parse error: NORAD mismatch between TLE lines (TLE lines mismatch) between characters 2 and 7"
        );
    }
}
