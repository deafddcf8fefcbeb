//! Strict JSON: decides whether a text is exactly one value as RFC 8259 defines it, with only white space around it.
//!
//! The scanner is lenient, because servers send what no standard allows, and it stops after the first value. Code
//! that claims that a text *is* a value, or that embeds it in other JSON, must check it here.

/// Returns whether the whole text is one JSON value: no trailing commas, no `NaN`, no lone surrogates, nothing after it.
pub(crate) fn is_value(text: &str) -> bool {
    let mut reader = StrictReader { bytes: text.as_bytes(), at: 0 };
    reader.value().is_some() && reader.at == reader.bytes.len()
}

/// Returns whether the whole text is one JSON number; white space may follow it.
pub(crate) fn is_number(text: &str) -> bool {
    let mut reader = StrictReader { bytes: text.as_bytes(), at: 0 };
    let is_number = reader.number().is_some();
    reader.space();
    is_number && reader.at == reader.bytes.len()
}

/// Returns whether the whole text is one JSON object or array.
pub(crate) fn is_container(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && is_value(text)
}

struct StrictReader<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl StrictReader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Reads `byte`; `None` if another one comes next.
    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    /// Reads one value with the white space around it; the stack holds the brackets that close the open containers.
    fn value(&mut self) -> Option<()> {
        let mut closers: Vec<u8> = Vec::new();
        loop {
            self.space();
            if let Some(closer) = self.open()? {
                closers.push(closer);
                continue;
            }
            // A value has ended, and so may the containers around it.
            loop {
                self.space();
                let Some(&closer) = closers.last() else { return Some(()) };
                if self.expect(closer).is_some() {
                    closers.pop();
                    continue;
                }
                self.expect(b',')?;
                if closer == b'}' {
                    self.key()?;
                }
                break;
            }
        }
    }

    /// Reads a scalar or an empty container, or the beginning of a container, whose closing bracket it returns.
    fn open(&mut self) -> Option<Option<u8>> {
        let closer = match self.peek()? {
            b'{' => b'}',
            b'[' => b']',
            _ => return self.scalar().map(|()| None),
        };
        self.at += 1;
        self.space();
        if self.expect(closer).is_some() {
            return Some(None);
        }
        if closer == b'}' {
            self.key()?;
        }
        Some(Some(closer))
    }

    fn key(&mut self) -> Option<()> {
        self.space();
        self.string()?;
        self.space();
        self.expect(b':')
    }

    fn scalar(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => self.string(),
            b'-' | b'0'..=b'9' => self.number(),
            _ => {
                let rest = &self.bytes[self.at..];
                let word = ["true", "false", "null"].iter().find(|word| rest.starts_with(word.as_bytes()))?;
                self.at += word.len();
                Some(())
            }
        }
    }

    fn string(&mut self) -> Option<()> {
        self.expect(b'"')?;
        loop {
            let byte = self.peek()?;
            self.at += 1;
            match byte {
                b'"' => return Some(()),
                b'\\' => self.escape()?,
                0..=0x1f => return None,
                _ => {}
            }
        }
    }

    /// Reads an escape after its backslash; a surrogate must be one of a pair.
    fn escape(&mut self) -> Option<()> {
        let kind = self.peek()?;
        self.at += 1;
        match kind {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(()),
            b'u' => match self.unit()? {
                0xd800..=0xdbff => {
                    self.expect(b'\\')?;
                    self.expect(b'u')?;
                    matches!(self.unit()?, 0xdc00..=0xdfff).then_some(())
                }
                0xdc00..=0xdfff => None,
                _ => Some(()),
            },
            _ => None,
        }
    }

    fn unit(&mut self) -> Option<u32> {
        let digits = self.bytes.get(self.at..self.at + 4)?;
        self.at += 4;
        digits.iter().try_fold(0, |unit, &digit| Some(unit << 4 | char::from(digit).to_digit(16)?))
    }

    fn number(&mut self) -> Option<()> {
        let _ = self.expect(b'-');
        let begin = self.at;
        self.digits()?;
        if self.bytes[begin] == b'0' && self.at > begin + 1 {
            return None;
        }
        if self.expect(b'.').is_some() {
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        Some(())
    }

    /// Reads one digit or more.
    fn digits(&mut self) -> Option<()> {
        let begin = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        (self.at > begin).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_single_complete_value_is_accepted() {
        for whole in [
            "{}",
            " [ ] \n",
            r#"{"a":[1,-0.5e+3,{"b":null}],"c":"\u00e9\ud834\udd1e\n"}"#,
            "[[],{},[[]]]",
            "0",
            "\"x\"",
            "true",
        ] {
            assert!(is_value(whole), "{whole}");
        }
        for other in [
            "",
            "{} {}",
            "[0] message",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "[1 2]",
            "[NaN]",
            "01",
            "1.",
            "-",
            "\"\\q\"",
            "\"\\ud800\"",
            "\"\\ud800\\u0041\"",
            "\"a\nb\"",
            "[1",
            "{\"a\"}",
            "truex",
            "'a'",
            "[}",
        ] {
            assert!(!is_value(other), "{other}");
        }
        assert!(is_container(" [1]") && !is_container("1") && !is_container("[1] x"));
    }
}
