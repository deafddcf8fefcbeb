//! Every key of `tidegate.toml`, once: where it belongs, which values it takes, its default, and what it does.
//!
//! The reader, the JSON Schema, the template of `tidegate config init`, `tidegate config show` and the reference page are
//! all generated from [`KEYS`]. `value.rs` applies a value to the rules it changes; a test checks that it knows every key.

use std::fmt;

use tidegate_core::budget::Budget;
use tidegate_core::hints::Hints;
use tidegate_gate::policy::{
    Compact, Keep, OnStoreFailure, REFERENCE_MAX_BYTES, SAVE_MAX_BYTES, TOKEN_LIFE, TTL,
};
use tidegate_gate::profile::OutputSchema;
use tidegate_gate::style::{AnswerWhen, Style};
use tidegate_gate::tier::Tier;
use tidegate_store::Quotas;

/// The top-level tables of the file.
pub(crate) const TOP_LEVEL_TABLES: [&str; 6] =
    ["defaults", "server", "client", "store", "upstream", "gateway"];

/// The tables a key can appear in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyGroup {
    /// Rules for tools: `[defaults]`, `[server.NAME]`, `[server.NAME.tool.PATTERN]`.
    Rules,
    /// `[client.PATTERN]`.
    Client,
    /// `[store]`.
    Store,
    /// `[store.objects]`.
    Objects,
    /// `[upstream.NAME]`.
    Upstream,
    /// `[gateway]`.
    Gateway,
    /// `[gateway.key.NAME]`.
    GatewayKey,
    /// `[gateway.issuer.NAME]`.
    Issuer,
    /// `[gateway.role.NAME]`.
    Role,
}

/// The values a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ValueKind {
    /// A whole number within bounds, both included.
    Number {
        /// The smallest value.
        min: u64,
        /// The largest value.
        max: u64,
    },
    /// `true` or `false`.
    Flag,
    /// A string that is not empty.
    Text,
    /// A list of strings.
    Texts,
    /// One of these names.
    Choice(&'static [&'static str]),
}

/// The default of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefaultValue {
    /// A number.
    Number(u64),
    /// `true` or `false`.
    Flag(bool),
    /// One of the choices.
    Choice(&'static str),
    /// Not a single value: a description of it.
    Described(&'static str),
}

/// One key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// The tables it can appear in.
    pub group: KeyGroup,
    /// Its name.
    pub name: &'static str,
    /// The values it takes.
    pub kind: ValueKind,
    /// Its default.
    pub default: DefaultValue,
    /// A value other than the default, as written in a file.
    pub example: &'static str,
    /// What it does, in one sentence.
    pub doc: &'static str,
    /// The flag of `tidegate run` that also sets it; empty if there is none.
    pub flag: &'static str,
    /// The environment variable that also sets it; empty if there is none.
    pub variable: &'static str,
    /// Whether only the user may set it. A project's file, which may come from a stranger, may set only what affects answers: not
    /// where results go, how long they are kept, or how much of the machine they may use.
    pub user_only: bool,
}

/// The largest result accepted from a server by default.
pub const DEFAULT_MAX_RESULT_BYTES: u64 = 256 << 20;
/// The smallest value of `max_result_bytes`: a limit must leave room for results that pass unread.
pub const MIN_MAX_RESULT_BYTES: u64 = 1 << 20;
/// Upper bound of keys that have no natural one; larger numbers limit nothing.
const MAX_NUMBER: u64 = 1 << 40;

const TOKENS: ValueKind = ValueKind::Number { min: Budget::MIN_TOKENS.0, max: MAX_NUMBER };
const BYTES: ValueKind = ValueKind::Number { min: Budget::MIN_BYTES.0, max: MAX_NUMBER };
const RESULT_BYTES: ValueKind = ValueKind::Number { min: MIN_MAX_RESULT_BYTES, max: MAX_NUMBER };

const fn up_to(max: u64) -> ValueKind {
    ValueKind::Number { min: 1, max }
}

/// All keys, the most used first.
pub const KEYS: [Key; 109] = [
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
    store("path", ValueKind::Text, DefaultValue::Described("the platform's data folder"))
        .example("\"~/.local/share/tidegate\"")
        .doc("Folder to keep results in; relative to this file's folder, or to the home folder with ~/.")
        .also("", "TIDEGATE_HOME"),
    store("url", ValueKind::Text, DefaultValue::Described("a store in the folder of path"))
        .example("\"postgres://tidegate@db.example/tidegate\"")
        .doc("Store that several machines share: a PostgreSQL database (docs/guides/team.md).")
        .also("", "TIDEGATE_STORE_URL"),
    store("password_file", ValueKind::Text, DefaultValue::Described("PGPASSWORD"))
        .example("\"~/.config/tidegate/password\"")
        .doc("File with the password of the database, which only you can read; PGPASSWORD can hold the password itself.")
        .also("", "TIDEGATE_STORE_PASSWORD_FILE"),
    store("encryption_key_file", ValueKind::Text, DefaultValue::Described("results are not encrypted"))
        .example("\"~/.config/tidegate/store.key\"")
        .doc("File with the key that encrypts stored results; TIDEGATE_STORE_KEY can hold the key itself.")
        .also("", "TIDEGATE_STORE_KEY_FILE"),
    store("previous_key_file", ValueKind::Text, DefaultValue::Described("none"))
        .example("\"~/.config/tidegate/previous.key\"")
        .doc("File with the key that encryption_key_file replaces, until tidegate store rekey has finished.")
        .also("", "TIDEGATE_STORE_PREVIOUS_KEY_FILE"),
    store("sealing_key_file", ValueKind::Text, DefaultValue::Described("seal.key in the data folder"))
        .example("\"/etc/tidegate/seal.key\"")
        .doc("File with the key that signs cursors; processes that share a store must have the same one.")
        .also("", "TIDEGATE_SEALING_KEY_FILE"),
    store("previous_sealing_key_file", ValueKind::Text, DefaultValue::Described("none"))
        .example("\"/etc/tidegate/previous-seal.key\"")
        .doc("File with the key that sealing_key_file replaces; cursors that it signed stay valid.")
        .also("", "TIDEGATE_PREVIOUS_SEALING_KEY_FILE"),
    store("quota_bytes", BYTES, DefaultValue::Number(Quotas::DEFAULT_STORE_BYTES))
        .example("107374182400")
        .doc("Maximum bytes that the store holds, after compression."),
    store("owner_quota_bytes", BYTES, DefaultValue::Described("quota_bytes"))
        .example("10737418240")
        .doc("Maximum bytes that the results of one owner take, after compression."),
    store("session_quota_bytes", BYTES, DefaultValue::Number(Quotas::DEFAULT_SESSION_BYTES))
        .example("5368709120")
        .doc("Maximum bytes that one process or session stores, after compression."),
    store("max_result_bytes", RESULT_BYTES, DefaultValue::Number(DEFAULT_MAX_RESULT_BYTES))
        .example("33554432")
        .doc("Largest result to accept from a server; a larger one becomes an error.")
        .also("--max-result-bytes", "TIDEGATE_MAX_RESULT_BYTES"),
    objects("url", ValueKind::Text, DefaultValue::Described("large results are in the database"))
        .example("\"s3://bucket/tidegate\"")
        .doc("S3 bucket and prefix for results above 256 KB, beside a PostgreSQL store.")
        .also("", "TIDEGATE_OBJECTS_URL"),
    objects("endpoint", ValueKind::Text, DefaultValue::Described("that of AWS for the region"))
        .example("\"http://127.0.0.1:8333\"")
        .doc("Address of the S3 server.")
        .also("", "TIDEGATE_OBJECTS_ENDPOINT"),
    objects("region", ValueKind::Text, DefaultValue::Described("AWS_REGION, or us-east-1"))
        .example("\"eu-central-1\"")
        .doc("Region of the bucket.")
        .also("", "TIDEGATE_OBJECTS_REGION"),
    objects("credentials_file", ValueKind::Text, DefaultValue::Described("the environment, or the role of the machine"))
        .example("\"~/.aws/credentials\"")
        .doc("File with the credentials, as the AWS command line writes it, which only you can read.")
        .also("", "TIDEGATE_OBJECTS_CREDENTIALS_FILE"),
    objects("credentials_profile", ValueKind::Text, DefaultValue::Described("default"))
        .example("\"team\"")
        .doc("Section of credentials_file to use.")
        .also("", "TIDEGATE_OBJECTS_CREDENTIALS_PROFILE"),
    upstream("command", ValueKind::Text, DefaultValue::Described("none; either command or url is needed"))
        .example("\"npx\"")
        .doc("Command that starts a server on stdio."),
    upstream("args", ValueKind::Texts, DefaultValue::Described("none"))
        .example("[\"-y\", \"@modelcontextprotocol/server-memory\"]")
        .doc("Arguments of the program."),
    upstream("env", ValueKind::Texts, DefaultValue::Described("only PATH, HOME and the like"))
        .example("[\"LOG_LEVEL=info\"]")
        .doc("Environment variables of the program, as NAME=VALUE; put secrets in env_from or env_file."),
    upstream("env_from", ValueKind::Texts, DefaultValue::Described("none"))
        .example("[\"GITHUB_TOKEN\", \"API_KEY=TEAM_API_KEY\"]")
        .doc("Variables of the gateway's environment that the program gets, as NAME or NAME=VARIABLE."),
    upstream("env_file", ValueKind::Texts, DefaultValue::Described("none"))
        .example("[\"API_KEY=/run/secrets/api_key\"]")
        .doc("Environment variables of the program whose values are in files, as NAME=FILE."),
    upstream("url", ValueKind::Text, DefaultValue::Described("none; either command or url is needed"))
        .example("\"https://example.com/mcp\"")
        .doc("URL of a server that is reached over HTTP."),
    upstream("header_env", ValueKind::Texts, DefaultValue::Described("none"))
        .example("[\"X-Api-Key=TEAM_API_KEY\"]")
        .doc("Headers to send to the server, with values in environment variables, as NAME=VARIABLE."),
    upstream("bearer_env", ValueKind::Text, DefaultValue::Described("none"))
        .example("\"TEAM_TOKEN\"")
        .doc("Environment variable with the bearer token to send to the server."),
    upstream("bearer_file", ValueKind::Text, DefaultValue::Described("none"))
        .example("\"/run/secrets/token\"")
        .doc("File with the bearer token to send to the server."),
    upstream("credentials", ValueKind::Choice(&CREDENTIALS), DefaultValue::Described("service where a key names one, else none"))
        .example("\"user\"")
        .doc("Whose credential the server gets: no one's, the gateway's own, or that of each caller."),
    upstream("credential_header", ValueKind::Text, DefaultValue::Described("Authorization, as a bearer token"))
        .example("\"X-Api-Key\"")
        .doc("Header with the credential of the caller, where it is not a bearer token."),
    upstream("credential_env", ValueKind::Text, DefaultValue::Described("required for a command with credentials of callers"))
        .example("\"GITHUB_TOKEN\"")
        .doc("Environment variable in which the program gets the credential of its caller."),
    upstream("list_credential_env", ValueKind::Text, DefaultValue::Described("none"))
        .example("\"TEAM_TOKEN\"")
        .doc("Environment variable with the credential to read lists with, where callers have their own."),
    upstream("list_credential_file", ValueKind::Text, DefaultValue::Described("none"))
        .example("\"/run/secrets/list_token\"")
        .doc("File with the credential to read lists with, where callers have their own."),
    upstream("sharing", ValueKind::Choice(&SHARING), DefaultValue::Choice(SHARING[0]))
        .example("\"shared\"")
        .doc("Who shares a connection. auto: all, if the server has no sessions; sticky: one caller, one replica."),
    upstream("prefix", ValueKind::Choice(&[""]), DefaultValue::Described("NAME and two underscores"))
        .example("\"\"")
        .doc("Prefix of the names of tools and prompts; a single server may have an empty one."),
    upstream("timeout_seconds", up_to(MAX_NUMBER), DefaultValue::Number(UPSTREAM_TIMEOUT))
        .example("60")
        .doc("How long the server may be silent before a request is answered with an error."),
    upstream("start_seconds", up_to(MAX_NUMBER), DefaultValue::Number(UPSTREAM_START))
        .example("120")
        .doc("How long the server may take to start and to answer initialize."),
    upstream("idle_seconds", up_to(MAX_NUMBER), DefaultValue::Number(UPSTREAM_IDLE))
        .example("300")
        .doc("How long a process or session of a single caller may be idle before it is ended."),
    upstream("max_processes", up_to(10_000), DefaultValue::Number(UPSTREAM_PROCESSES))
        .example("16")
        .doc("Maximum processes of the server at once."),
    upstream("queue_seconds", up_to(MAX_NUMBER), DefaultValue::Number(UPSTREAM_QUEUE))
        .example("30")
        .doc("How long a caller waits while max_processes are in use."),
    gateway("resource", ValueKind::Text, DefaultValue::Described("the URL that each client calls"))
        .example("\"https://gateway.example/mcp\"")
        .doc("URL of the gateway as clients call it; tokens must be issued for it."),
    gateway("max_in_flight", up_to(100_000), DefaultValue::Number(GATEWAY_IN_FLIGHT))
        .example("64")
        .doc("Maximum requests that a server works on at once, at most half of them of one caller; further ones wait."),
    gateway("max_waiting", up_to(100_000), DefaultValue::Number(GATEWAY_WAITING))
        .example("32")
        .doc("Maximum waiting requests of one caller for one server; further ones are refused."),
    gateway("queue_seconds", up_to(3600), DefaultValue::Number(GATEWAY_QUEUE))
        .example("10")
        .doc("How long a request may wait for its turn."),
    gateway("audit_file", ValueKind::Text, DefaultValue::Described("none"))
        .example("\"/var/log/tidegate/audit.jsonl\"")
        .doc("File that gets a line of JSON for each request and each result, without payloads."),
    gateway("log_format", ValueKind::Choice(&LOG_FORMATS), DefaultValue::Choice(LOG_FORMATS[0]))
        .example("\"json\"")
        .doc("How lines of the log are written to stderr: as text, or each as a JSON object."),
    gateway("otlp_endpoint", ValueKind::Text, DefaultValue::Described("no traces"))
        .example("\"http://127.0.0.1:4318\"")
        .doc("Collector that gets a span for each call, over OTLP/HTTP with JSON; /v1/traces is added.")
        .also("", "OTEL_EXPORTER_OTLP_ENDPOINT"),
    in_group(KeyGroup::GatewayKey, "hash", ValueKind::Text, DefaultValue::Described("required"))
        .example("\"blake3:0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0\"")
        .doc("Hash of the caller's key; tidegate gateway key makes both."),
    in_group(KeyGroup::GatewayKey, "groups", ValueKind::Texts, DefaultValue::Described("none"))
        .example("[\"staff\"]")
        .doc("Groups of the caller, which give it roles."),
    in_group(KeyGroup::Issuer, "issuer", ValueKind::Text, DefaultValue::Described("required"))
        .example("\"https://login.example\"")
        .doc("URL of the issuer, exactly as in the iss of its tokens; its metadata is found there."),
    in_group(KeyGroup::Issuer, "jwks_url", ValueKind::Text, DefaultValue::Described("from the metadata"))
        .example("\"https://login.example/keys\"")
        .doc("URL of its public keys (JWKS)."),
    in_group(
        KeyGroup::Issuer,
        "algorithms",
        ValueKind::Texts,
        DefaultValue::Described("RS256, PS256, ES256, ES384 and EdDSA"),
    )
    .example("[\"RS256\"]")
    .doc("Signature algorithms that are accepted."),
    in_group(KeyGroup::Issuer, "audience", ValueKind::Text, DefaultValue::Described("resource of [gateway]"))
        .example("\"api://tidegate\"")
        .doc("The aud that its tokens must have, if it is not the URL of the gateway."),
    in_group(KeyGroup::Issuer, "groups_claim", ValueKind::Text, DefaultValue::Described("groups"))
        .example("\"realm_access.roles\"")
        .doc("Claim that lists the caller's groups; a dotted path reads a nested claim."),
    in_group(
        KeyGroup::Issuer,
        "leeway_seconds",
        ValueKind::Number { min: 0, max: 300 },
        DefaultValue::Number(ISSUER_LEEWAY),
    )
    .example("5")
    .doc("How far the clock of the issuer may be off."),
    in_group(KeyGroup::Role, "groups", ValueKind::Texts, DefaultValue::Described("none"))
        .example("[\"staff\"]")
        .doc("Groups whose members have the role; if groups, scopes and callers are all unset, every caller has it."),
    in_group(KeyGroup::Role, "scopes", ValueKind::Texts, DefaultValue::Described("none"))
        .example("[\"mcp:write\"]")
        .doc("Scopes that give the role; the token must have all of them."),
    in_group(KeyGroup::Role, "callers", ValueKind::Texts, DefaultValue::Described("none"))
        .example("[\"key:ada\", \"https://login.example *\"]")
        .doc("Callers that have the role: key:NAME, or issuer and subject; * matches any characters."),
    in_group(KeyGroup::Role, "tier", ValueKind::Choice(&Tier::NAMES), DefaultValue::Choice(Tier::NAMES[2]))
        .example("\"read\"")
        .doc("Tier that the role gives: what its callers may call and read."),
    in_group(KeyGroup::Role, "servers", ValueKind::Texts, DefaultValue::Described("all"))
        .example("[\"github\", \"jira-*\"]")
        .doc("Servers that the role allows; * matches any characters."),
    in_group(KeyGroup::Role, "tools", ValueKind::Texts, DefaultValue::Described("all, and resources"))
        .example("[\"list_*\", \"search\"]")
        .doc("Tools and prompts that the role allows, by the names that their servers give them."),
    in_group(KeyGroup::Role, "requests_per_minute", up_to(1 << 30), DefaultValue::Described("no limit"))
        .example("120")
        .doc("Maximum requests per caller and minute, on each replica."),
    in_group(KeyGroup::Role, "requests_per_day", up_to(MAX_NUMBER), DefaultValue::Described("no limit"))
        .example("5000")
        .doc("Maximum requests per caller and day (UTC)."),
    in_group(KeyGroup::Role, "tokens_per_day", up_to(MAX_NUMBER), DefaultValue::Described("no limit"))
        .example("2000000")
        .doc("Maximum tokens of answers per caller and day (UTC)."),
    in_group(KeyGroup::Role, "stored_bytes_per_day", up_to(MAX_NUMBER), DefaultValue::Described("no limit"))
        .example("1073741824")
        .doc("Maximum bytes stored per caller and day (UTC), after compression."),
];

/// The defaults of the gateway; times are in seconds.
pub(crate) const GATEWAY_IN_FLIGHT: u64 = 512;
pub(crate) const GATEWAY_WAITING: u64 = 256;
pub(crate) const GATEWAY_QUEUE: u64 = 30;
pub(crate) const ISSUER_LEEWAY: u64 = 30;

/// How lines of the log are written.
pub(crate) const LOG_FORMATS: [&str; 2] = ["text", "json"];
/// Whose credential a server gets.
pub(crate) const CREDENTIALS: [&str; 3] = ["none", "service", "user"];
/// The values of `sharing`: whose requests share a connection to a server.
pub(crate) const SHARING: [&str; 4] = ["auto", "shared", "caller", "sticky"];
/// The defaults of a server behind the gateway; times are in seconds.
pub(crate) const UPSTREAM_TIMEOUT: u64 = 600;
pub(crate) const UPSTREAM_START: u64 = 30;
pub(crate) const UPSTREAM_IDLE: u64 = 900;
pub(crate) const UPSTREAM_PROCESSES: u64 = 64;
pub(crate) const UPSTREAM_QUEUE: u64 = 10;

const fn rule(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key {
        group: KeyGroup::Rules,
        name,
        kind,
        default,
        example: "",
        doc: "",
        flag: "",
        variable: "",
        user_only: false,
    }
}

const fn client(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group: KeyGroup::Client, ..rule(name, kind, default) }
}

const fn store(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group: KeyGroup::Store, ..rule(name, kind, default) }.user_only()
}

const fn upstream(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group: KeyGroup::Upstream, ..rule(name, kind, default) }.user_only()
}

const fn in_group(group: KeyGroup, name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group, ..rule(name, kind, default) }.user_only()
}

const fn gateway(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    in_group(KeyGroup::Gateway, name, kind, default)
}

const fn objects(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group: KeyGroup::Objects, ..store(name, kind, default) }
}

impl Key {
    const fn example(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    const fn doc(self, doc: &'static str) -> Self {
        Self { doc, ..self }
    }

    const fn also(self, flag: &'static str, variable: &'static str) -> Self {
        Self { flag, variable, ..self }
    }

    const fn user_only(self) -> Self {
        Self { user_only: true, ..self }
    }

    /// Returns the flag and the environment variable that also set it.
    pub fn other_sources(&self) -> impl Iterator<Item = &'static str> {
        [self.flag, self.variable].into_iter().filter(|name| !name.is_empty())
    }

    /// Returns the key with this name.
    pub fn named(group: KeyGroup, name: &str) -> Option<&'static Self> {
        Self::in_group(group).find(|key| key.name == name)
    }

    /// Returns the keys of a group.
    pub fn in_group(group: KeyGroup) -> impl Iterator<Item = &'static Self> {
        KEYS.iter().filter(move |key| key.group == group)
    }
}

impl DefaultValue {
    /// Returns the default as written in a file; `None` if it is not a single value.
    pub fn as_toml(&self) -> Option<String> {
        match self {
            Self::Number(number) => Some(number.to_string()),
            Self::Flag(flag) => Some(flag.to_string()),
            Self::Choice(name) => Some(format!("{name:?}")),
            Self::Described(_) => None,
        }
    }
}

impl fmt::Display for ValueKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number { min, max: MAX_NUMBER } => write!(formatter, "a whole number, at least {min}"),
            Self::Number { min, max } => write!(formatter, "a whole number, {min} to {max}"),
            Self::Flag => formatter.write_str("true or false"),
            Self::Text => formatter.write_str("a string"),
            Self::Texts => formatter.write_str("a list of strings"),
            Self::Choice([""]) => formatter.write_str("an empty string"),
            Self::Choice(choices) => write!(formatter, "one of {}", choices.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use tidegate_gate::policy::{Policies, Rules};
    use tidegate_gate::profile::{Profile, ProfileRules};

    use super::*;
    use crate::file::{ConfigFile, Section};
    use crate::locate::FileOwner;
    use crate::value::{Value, client_value, set_client_rule, set_rule};

    /// Reads one setting that has no mistakes.
    fn read(heading: &str, name: &str, value: &str) -> Section {
        let mut mistakes = Vec::new();
        let text = format!("[{heading}]\n{name} = {value}\n");
        let mut file = ConfigFile::read(Path::new("t.toml"), FileOwner::User, &text, &mut mistakes);
        assert!(mistakes.is_empty(), "{mistakes:?}");
        file.sections.pop().unwrap()
    }

    #[test]
    fn every_key_has_an_effect_that_no_other_key_has() {
        let (mut rules, mut clients) = (vec![Rules::default()], vec![ProfileRules::default()]);
        for key in &KEYS {
            match key.group {
                KeyGroup::Rules => rules.push(read("defaults", key.name, key.example).rules()),
                KeyGroup::Client => clients.push(read("client.x", key.name, key.example).client_rules()),
                KeyGroup::Store => assert!(read("store", key.name, key.example).get(key.name).is_some()),
                KeyGroup::Objects => {
                    assert!(read("store.objects", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::Upstream => {
                    assert!(read("upstream.x", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::Gateway => {
                    assert!(read("gateway", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::GatewayKey => {
                    assert!(read("gateway.key.x", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::Issuer => {
                    assert!(read("gateway.issuer.x", key.name, key.example).get(key.name).is_some());
                }
                KeyGroup::Role => {
                    assert!(read("gateway.role.x", key.name, key.example).get(key.name).is_some());
                }
            }
        }
        for (at, one) in rules.iter().enumerate() {
            assert!(!rules[..at].contains(one), "{one:?}");
        }
        for (at, one) in clients.iter().enumerate() {
            assert!(!clients[..at].contains(one), "{one:?}");
        }
    }

    /// A key that is added must say here whether a stranger's project may set it.
    #[test]
    fn a_project_may_set_only_keys_that_affect_answers() {
        let groups_of_run = [KeyGroup::Rules, KeyGroup::Client, KeyGroup::Store, KeyGroup::Objects];
        let (run, gateway): (Vec<&Key>, Vec<&Key>) =
            KEYS.iter().partition(|key| groups_of_run.contains(&key.group));
        assert!(gateway.iter().all(|key| key.user_only), "a project sets nothing of a gateway");
        let user_only: Vec<&str> = run.iter().filter(|key| key.user_only).map(|key| key.name).collect();
        assert_eq!(
            user_only,
            [
                "ttl_seconds",
                "keep",
                "save",
                "save_max_bytes",
                "tier",
                "references",
                "references_from",
                "reference_max_bytes",
                "tier",
                "path",
                "url",
                "password_file",
                "encryption_key_file",
                "previous_key_file",
                "sealing_key_file",
                "previous_sealing_key_file",
                "quota_bytes",
                "owner_quota_bytes",
                "session_quota_bytes",
                "max_result_bytes",
                "url",
                "endpoint",
                "region",
                "credentials_file",
                "credentials_profile"
            ]
        );
        let names_for_projects = |group| {
            let keys = Key::in_group(group).filter(|key| !key.user_only);
            keys.map(|key| key.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            names_for_projects(KeyGroup::Rules),
            "budget_tokens follow_up_tokens line_tokens max_bytes cap_tokens style compact compare fields rows kind page_size \
             on_store_failure probe_when contract_when label_field id_field token_seconds auto_negotiate_bytes domain category_budgets max_items \
             max_string max_lines max_depth offer_output full_cap_tokens session_max_bytes"
        );
        assert_eq!(
            names_for_projects(KeyGroup::Client),
            "budget_tokens follow_up_tokens line_tokens max_bytes cap_tokens output_schema resource_link count_percent \
             program profile"
        );
        assert_eq!(
            [KeyGroup::Store, KeyGroup::Objects, KeyGroup::Upstream, KeyGroup::Gateway]
                .map(names_for_projects),
            [String::new(), String::new(), String::new(), String::new()]
        );
    }

    /// A program that writes rules gets the same limits as a file.
    #[test]
    fn rules_are_checked_with_the_limits_of_the_keys() {
        for key in Key::in_group(KeyGroup::Rules) {
            let ValueKind::Number { min, max } = key.kind else { continue };
            let is_valid = |number| {
                let mut rules = Rules::default();
                set_rule(&mut rules, key.name, &Value::Number(number));
                rules.validate().is_ok()
            };
            let valid = [min - 1, min, max, max + 1].map(is_valid);
            assert_eq!(valid, [false, true, true, false], "{}", key.name);
        }
    }

    #[test]
    fn every_key_is_described_once() {
        for (at, key) in KEYS.iter().enumerate() {
            assert!(!KEYS[..at].iter().any(|other| (other.group, other.name) == (key.group, key.name)));
            assert!(key.doc.ends_with('.') && key.doc.len() < 120, "{}", key.doc);
            assert_ne!(Some(key.example.to_owned()), key.default.as_toml(), "{}", key.name);
        }
    }

    /// Setting a key to its default changes nothing.
    #[test]
    fn the_defaults_are_those_of_the_code() {
        let profile = Profile::strictest();
        let usual = Policies::default().of_tool("x");
        for key in &KEYS {
            let Some(default) = Value::of_default(&key.default) else { continue };
            match key.group {
                KeyGroup::Rules => {
                    let mut policies = Policies::default();
                    set_rule(&mut policies.run, key.name, &default);
                    let policy = policies.of_tool("x");
                    match key.name {
                        // The policy remembers that it was set: a client's budget then no longer applies.
                        "budget_tokens" => assert_eq!(policy.budget(&profile), usual.budget(&profile)),
                        "follow_up_tokens" => {
                            assert_eq!(policy.follow_up(&profile), usual.follow_up(&profile));
                        }
                        "line_tokens" => assert_eq!(policy.line(&profile), usual.line(&profile)),
                        _ => assert_eq!(policy, usual, "{}", key.name),
                    }
                }
                KeyGroup::Client => {
                    let mut rules = ProfileRules::default();
                    set_client_rule(&mut rules, key.name, &default);
                    assert_eq!(rules.over(profile.clone()), profile, "{}", key.name);
                    assert_eq!(client_value(&profile, key.name), Some(default));
                }
                // `upstream.rs` and `access.rs` read these defaults from the constants above.
                KeyGroup::Upstream
                | KeyGroup::Gateway
                | KeyGroup::GatewayKey
                | KeyGroup::Issuer
                | KeyGroup::Role => {}
                KeyGroup::Store | KeyGroup::Objects => {
                    let Quotas { store_bytes, session_bytes, .. } = Quotas::default();
                    let expected = match key.name {
                        "quota_bytes" => store_bytes,
                        "session_quota_bytes" => session_bytes,
                        _ => DEFAULT_MAX_RESULT_BYTES,
                    };
                    assert_eq!(default, Value::Number(expected), "{}", key.name);
                }
            }
        }
    }
}
