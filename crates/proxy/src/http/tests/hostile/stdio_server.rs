//! Faults of a server on stdio.

use super::Promise::{self, Error, Overdue, Result};

/// A fault, with what is promised for a call.
pub(super) struct Fault {
    pub(super) name: &'static str,
    /// Lines of shell; `@` is the id of the call, and `hang` ends the script but not the process.
    pub(super) does: &'static str,
    pub(super) promise: Promise,
}

const fn fault(name: &'static str, does: &'static str, promise: Promise) -> Fault {
    Fault { name, does, promise }
}

/// What comes around a fault: a server that answers everything else.
pub(super) fn script(does: &str) -> String {
    let does = does.replace('@', r#"'"$id"'"#);
    format!(
        r#"say() {{ printf '%s\n' "$1"; }}
hang() {{ exec sleep 40; }}
ok() {{ say '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"content":[]}}}}'; }}
while IFS= read -r line; do
  id=${{line#*\"id\":}}; id=${{id%%,*}}
  case "$line" in
    *'"initialize"'*) say '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"capabilities":{{}}}}}}' ;;
    *'"tools/list"'*) say '{{"jsonrpc":"2.0","id":'"$id"',"result":{{"tools":[]}}}}' ;;
    *'"tools/call"'*) {does} ;;
  esac
done"#
    )
}

pub(super) const FAULTS: &[Fault] = &[
    fault("none", "ok", Result),
    fault("another id", r#"say '{"jsonrpc":"2.0","id":4711,"result":{"content":[]}}'"#, Overdue),
    fault("another id first", r#"say '{"jsonrpc":"2.0","id":"x","result":{}}'; ok"#, Result),
    fault(
        "only an error without an id",
        r#"say '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}'"#,
        Overdue,
    ),
    fault(
        "neither result nor error",
        r#"say '{"jsonrpc":"2.0","id":@}'"#,
        Error("neither a result nor an error; the tool may have run"),
    ),
    fault(
        "an error that is null",
        r#"say '{"jsonrpc":"2.0","id":@,"error":null}'"#,
        Error("neither a result nor an error"),
    ),
    fault(
        "both result and error",
        r#"say '{"jsonrpc":"2.0","id":@,"result":{},"error":{"code":1,"message":"x"}}'"#,
        Error("both a result and an error; the tool may have run"),
    ),
    fault("a result and a null error", r#"say '{"jsonrpc":"2.0","id":@,"result":{},"error":null}'"#, Result),
    fault(
        "an error and a null result",
        r#"say '{"jsonrpc":"2.0","id":@,"result":null,"error":{"code":1,"message":"its own words"}}'"#,
        Error("its own words"),
    ),
    fault(
        "an error",
        r#"say '{"jsonrpc":"2.0","id":@,"error":{"code":1,"message":"its own words"}}'"#,
        Error("its own words"),
    ),
    fault(
        "a line cut short",
        r#"printf '{"jsonrpc":"2.0","id":@,"result":{"con'; exit 0"#,
        Error("ended with exit code 0 before it answered the call of list; the tool may have run"),
    ),
    fault(
        "a line cut short, then silence",
        r#"printf '{"jsonrpc":"2.0","id":@,"result":{"con'; hang"#,
        Overdue,
    ),
    fault("a whole line without its end", r#"printf '{"jsonrpc":"2.0","id":@,"result":{}}'; exit 0"#, Result),
    fault("half a line, then a whole one", r#"say '{"jsonrpc":"2.0","id":@,"res'; ok"#, Result),
    fault("silence", "hang", Overdue),
    fault("silence, but it reads", ":", Overdue),
    fault(
        "exit",
        "exit 3",
        Error("ended with exit code 3 before it answered the call of list; the tool may have run"),
    ),
    fault("a signal", "kill -KILL $$", Error("the tool may have run")),
    fault("a closed output", "exec 1>&-; hang", Error("the tool may have run")),
    fault("a closed input", "exec 0<&-; hang", Overdue),
    fault("endless noise", "while sleep 0.05; do say noise; done", Overdue),
    fault(
        "endless JSON that is no message",
        r#"while sleep 0.05; do say '{"level":"info","id":@}'; done"#,
        Overdue,
    ),
    fault(
        "endless notifications",
        r#"while sleep 0.05; do say '{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}'; done"#,
        Overdue,
    ),
    fault(
        "endless progress of another request",
        r#"while sleep 0.05; do say '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"no","progress":1}}'; done"#,
        Overdue,
    ),
    fault(
        "endless pings",
        r#"while sleep 0.05; do say '{"jsonrpc":"2.0","id":"p","method":"ping"}'; done"#,
        Overdue,
    ),
    fault("two answers", "ok; ok; ok", Result),
    fault("an answer and another id", r#"ok; say '{"jsonrpc":"2.0","id":4711,"result":{}}'"#, Result),
    fault("an id with a fraction", r#"say '{"jsonrpc":"2.0","id":@.0,"result":{}}'"#, Result),
    fault("a batch", r#"say '[{"jsonrpc":"2.0","id":@,"result":{}}]'"#, Result),
    fault(
        "a batch with more",
        r#"say '[{"jsonrpc":"2.0","id":"x","result":{}},{"jsonrpc":"2.0","id":@,"result":{}},7]'"#,
        Result,
    ),
    fault("an empty batch", "say '[]'", Overdue),
    fault("text before the answer", r#"printf '50%% '; ok"#, Result),
    fault("a byte order mark", r#"printf '\357\273\277'; ok"#, Result),
    fault("line ends of Windows", r#"say '{"jsonrpc":"2.0","id":@,"result":{}}'"$(printf '\r')""#, Result),
    fault(
        "bytes that are not UTF-8",
        r#"printf '{"jsonrpc":"2.0","id":@,"result":{"x":"\377\300"}}\n'"#,
        Result,
    ),
    fault("no jsonrpc member", r#"say '{"id":@,"result":{}}'"#, Result),
    fault("an unknown member", r#"say '{"future":[1],"jsonrpc":"2.0","id":@,"result":{}}'"#, Result),
    fault("an id twice", r#"say '{"jsonrpc":"2.0","id":0,"id":@,"result":{}}'"#, Result),
    fault(
        "a message in pieces",
        r#"printf '{"jsonrpc":"2.0","id":@'; sleep 0.1; say ',"result":{}}'"#,
        Result,
    ),
];
