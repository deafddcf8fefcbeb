//! The keys of `[client.PATTERN]`.

use tidegate_gate::profile::OutputSchema;
use tidegate_gate::tier::Tier;

use super::{BYTES, DefaultValue, Key, KeyGroup, TOKENS, ValueKind, rule};

pub(super) const KEYS: &[Key] = &[
    client("budget_tokens", TOKENS, DefaultValue::Described("the rules of the tool"))
        .example("1500")
        .doc("Maximum tokens of a first answer, unless the tool's rules set it."),
    client("follow_up_tokens", TOKENS, DefaultValue::Described("the rules of the tool"))
        .example("3000")
        .doc("Maximum tokens of follow-ups, pages and queries, unless the tool's rules set it."),
    client("line_tokens", TOKENS, DefaultValue::Described("the rules of the tool"))
        .example("3000")
        .doc("Results up to this size pass unchanged, unless the tool's rules set it."),
    client("max_bytes", BYTES, DefaultValue::Number(10_240))
        .example("40000")
        .doc("Maximum bytes of an answer; keep it below the client's own limit."),
    client("cap_tokens", TOKENS, DefaultValue::Number(10_000))
        .example("20000")
        .doc("Maximum tokens a caller can ask for, unless the tool's rules set it."),
    client(
        "output_schema",
        ValueKind::Choice(&OutputSchema::NAMES),
        DefaultValue::Choice(OutputSchema::NAMES[0]),
    )
    .example("\"keep\"")
    .doc("What to do with a tool's outputSchema: remove it, keep it, or widen it to allow shaped answers."),
    client("resource_link", ValueKind::Flag, DefaultValue::Flag(false))
        .example("true")
        .doc("Whether an answer includes a link to the complete result."),
    client("count_percent", ValueKind::Number { min: 100, max: 1000 }, DefaultValue::Number(100))
        .example("130")
        .doc("Token counts are scaled to this percentage, for models whose tokenizer is not public."),
    client("program", ValueKind::Flag, DefaultValue::Flag(false))
        .example("true")
        .doc("Whether the client is a program, which gets a whole result in one read if it asks for it."),
    client("profile", ValueKind::Text, DefaultValue::Described("the client's own"))
        .example("\"small-model\"")
        .doc("Start from this client's built-in values; small-model is for contexts of 8,000 tokens."),
    client("tier", ValueKind::Choice(&Tier::NAMES), DefaultValue::Choice(Tier::NAMES[2]))
        .example("\"read\"")
        .doc("What a client may call and read; clients can send any name, so use --tier for untrusted ones.")
        .user_only(),
];

const fn client(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group: KeyGroup::Client, ..rule(name, kind, default) }
}
