//! The keys of a gateway, which only the user may set: its servers, itself, its callers and their roles.

use tidegate_gate::tier::Tier;

use super::{DefaultValue, Key, KeyGroup, MAX_NUMBER, ValueKind, rule, up_to};

pub(super) const KEYS: &[Key] = &[
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
        .doc("Credential that the server gets: none, that of the gateway, or that of each caller."),
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
        .doc("URL of the gateway as clients call it; required unless each issuer has an audience."),
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
const LOG_FORMATS: [&str; 2] = ["text", "json"];
/// Whose credential a server gets.
const CREDENTIALS: [&str; 3] = ["none", "service", "user"];
/// The values of `sharing`: whose requests share a connection to a server.
pub(crate) const SHARING: [&str; 4] = ["auto", "shared", "caller", "sticky"];
/// The defaults of a server behind the gateway; times are in seconds.
pub(crate) const UPSTREAM_TIMEOUT: u64 = 600;
pub(crate) const UPSTREAM_START: u64 = 30;
pub(crate) const UPSTREAM_IDLE: u64 = 900;
pub(crate) const UPSTREAM_PROCESSES: u64 = 64;
pub(crate) const UPSTREAM_QUEUE: u64 = 10;

const fn in_group(group: KeyGroup, name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group, ..rule(name, kind, default) }.user_only()
}

const fn gateway(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    in_group(KeyGroup::Gateway, name, kind, default)
}

const fn upstream(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group: KeyGroup::Upstream, ..rule(name, kind, default) }.user_only()
}
