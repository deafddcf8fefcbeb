//! The keys of the rules for tools: `[defaults]`, `[server.NAME]` and `[server.NAME.tool.PATTERN]`.

use tidegate_core::budget::Budget;
use tidegate_core::hints::Hints;
use tidegate_gate::policy::{
    Compact, Keep, OnStoreFailure, REFERENCE_MAX_BYTES, SAVE_MAX_BYTES, TOKEN_LIFE, TTL,
};
use tidegate_gate::style::{AnswerWhen, Style};
use tidegate_gate::tier::Tier;

use super::{BYTES, DefaultValue, Key, MAX_NUMBER, TOKENS, ValueKind, rule, up_to};

pub(super) const KEYS: &[Key] = &[
    rule("budget_tokens", TOKENS, DefaultValue::Number(Budget::DEFAULT_TOKENS.0))
        .example("600")
        .doc("Maximum tokens of a first answer; overrides the client's value.")
        .also("--budget", "TIDEGATE_BUDGET"),
    rule("follow_up_tokens", TOKENS, DefaultValue::Number(Budget::FOLLOW_UP_TOKENS.0))
        .example("4000")
        .doc("Maximum tokens of follow-ups, pages and queries; a larger budget_tokens raises the default.")
        .also("--follow-up", "TIDEGATE_FOLLOW_UP"),
    rule("line_tokens", TOKENS, DefaultValue::Number(Budget::LINE_TOKENS.0))
        .example("4000")
        .doc("Results up to this size pass unchanged; at least budget_tokens, which raises a lower default.")
        .also("--line", "TIDEGATE_LINE"),
    rule(
        "max_bytes",
        BYTES,
        DefaultValue::Described("5 per token, at least 10240, below the client's own limit"),
    )
    .example("8000")
    .doc("Maximum bytes of an answer.")
    .also("--max-bytes", "TIDEGATE_MAX_BYTES"),
    rule("cap_tokens", TOKENS, DefaultValue::Described("the client's value, or 10000"))
        .example("20000")
        .doc("Maximum tokens a caller can ask for; overrides the client's value."),
    rule("ttl_seconds", up_to(MAX_NUMBER), DefaultValue::Number(TTL.as_secs()))
        .example("3600")
        .doc("How long results are kept.")
        .also("--ttl", "TIDEGATE_TTL")
        .user_only(),
    rule("keep", ValueKind::Choice(&Keep::NAMES), DefaultValue::Choice(Keep::NAMES[0]))
        .example("\"all\"")
        .doc("all: results that pass are kept too, after they were sent, so that queries can join them.")
        .user_only(),
    rule("save", ValueKind::Flag, DefaultValue::Flag(false))
        .example("true")
        .doc("Whether clients get the tool result_save, which writes any view of a result to a new file.")
        .user_only(),
    rule("save_max_bytes", up_to(MAX_NUMBER), DefaultValue::Number(SAVE_MAX_BYTES))
        .example("16777216")
        .doc("Maximum bytes of a file that result_save writes; a larger one is not written.")
        .user_only(),
    rule("style", ValueKind::Choice(&Style::NAMES), DefaultValue::Choice(Style::NAMES[0]))
        .example("\"probe\"")
        .doc("What to answer when a result does not fit (docs/styles.md).")
        .also("--style", "TIDEGATE_STYLE"),
    rule("compact", ValueKind::Choice(&Compact::NAMES), DefaultValue::Choice(Compact::NAMES[0]))
        .example("\"lossless\"")
        .doc("lossless: results that pass are sent in a shorter form with the same data, if there is one."),
    rule("compare", ValueKind::Flag, DefaultValue::Flag(true))
        .example("false")
        .doc("Whether the answer to a repeated call says what changed since the last result of that call."),
    rule("fields", ValueKind::Texts, DefaultValue::Described("chosen for each result"))
        .example("[\"number\", \"title\", \"state\"]")
        .doc("Fields of each row to show; all fields are kept."),
    rule("rows", ValueKind::Text, DefaultValue::Described("detected in each result"))
        .example("\".items\"")
        .doc("Path of the list of records, if tidegate does not detect it."),
    rule("kind", ValueKind::Choice(&Hints::KINDS), DefaultValue::Described("detected in each result"))
        .example("\"log\"")
        .doc("Format of the text in a result."),
    rule("page_size", up_to(1000), DefaultValue::Described("as many as typically fit"))
        .example("25")
        .doc("Records per page."),
    rule(
        "on_store_failure",
        ValueKind::Choice(&OnStoreFailure::NAMES),
        DefaultValue::Choice(OnStoreFailure::NAMES[0]),
    )
    .example("\"error\"")
    .doc("What to answer when neither store nor memory can take a result; it says that the tool did run."),
    rule("probe_when", ValueKind::Choice(&AnswerWhen::NAMES), DefaultValue::Choice(AnswerWhen::NAMES[0]))
        .example("\"always\"")
        .doc("When a tool of style probe answers with a probe."),
    rule("contract_when", ValueKind::Choice(&AnswerWhen::NAMES), DefaultValue::Choice(AnswerWhen::NAMES[0]))
        .example("\"always\"")
        .doc("When a tool of style contract answers with a contract; always: for every result."),
    rule("label_field", ValueKind::Text, DefaultValue::Described("chosen for each item"))
        .example("\"product.name\"")
        .doc("Field that labels the items of a contract; a dotted path."),
    rule("id_field", ValueKind::Text, DefaultValue::Described("chosen for each item"))
        .example("\"product.sku\"")
        .doc("Field that identifies the items of a contract; a dotted path."),
    rule("token_seconds", up_to(MAX_NUMBER), DefaultValue::Number(TOKEN_LIFE.as_secs()))
        .example("600")
        .doc("How long the continuation token of a probe is valid."),
    rule("auto_negotiate_bytes", up_to(MAX_NUMBER), DefaultValue::Described("never"))
        .example("50000")
        .doc("Results larger than this are answered with a probe, whatever the style."),
    rule("domain", ValueKind::Text, DefaultValue::Described("the tool's name"))
        .example("\"bugfix\"")
        .doc("Domain in the ax:// URIs of stored results."),
    rule("category_budgets", ValueKind::Flag, DefaultValue::Flag(false))
        .example("true")
        .doc("Whether the byte budget depends on the tool's category, which is derived from its name."),
    rule("max_items", up_to(1000), DefaultValue::Number(10))
        .example("5")
        .doc("Maximum items of a list when a value is shortened."),
    rule("max_string", up_to(100_000), DefaultValue::Number(500))
        .example("200")
        .doc("Maximum characters of a string when a value is shortened."),
    rule("max_lines", ValueKind::Number { min: 2, max: 1000 }, DefaultValue::Number(20))
        .example("40")
        .doc("Maximum lines of a text when a value is shortened."),
    rule("max_depth", up_to(64), DefaultValue::Number(4))
        .example("3")
        .doc("Maximum nesting depth when a value is shortened."),
    rule("offer_output", ValueKind::Flag, DefaultValue::Flag(false))
        .example("true")
        .doc("Whether the tool gets an `output` argument, which lets a caller ask for the full result."),
    rule("full_cap_tokens", TOKENS, DefaultValue::Described("cap_tokens"))
        .example("50000")
        .doc("Maximum tokens of a full result in an answer; a larger one is attached as a resource."),
    rule("session_max_bytes", up_to(MAX_NUMBER), DefaultValue::Described("no limit"))
        .example("25000")
        .doc("Maximum bytes of all answers of a session; as it runs out, answers shrink, to at most 400 bytes each."),
    rule("tier", ValueKind::Choice(&Tier::NAMES), DefaultValue::Choice(Tier::NAMES[0]))
        .example("\"admin\"")
        .doc("Tier that a client needs to see a tool, to call it and to read its results.")
        .user_only(),
    rule("references", ValueKind::Flag, DefaultValue::Flag(false))
        .example("true")
        .doc("Whether arguments may be references to stored results, such as result://NAME (docs/concepts/references.md).")
        .user_only(),
    rule("references_from", ValueKind::Texts, DefaultValue::Described("only the tool's own server"))
        .example("[\"github\"]")
        .doc("Other servers whose results references may pass to the tool, by name; * matches any characters.")
        .user_only(),
    rule("reference_max_bytes", up_to(16 << 20), DefaultValue::Number(REFERENCE_MAX_BYTES))
        .example("65536")
        .doc("Maximum bytes of the values that the references of one call stand for.")
        .user_only(),
];
