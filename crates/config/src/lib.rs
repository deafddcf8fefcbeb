//! `tidegate.toml`: rules for tools, servers and clients, and where results are stored.
//!
//! Two stages. `file.rs` reads what was written and reports the location of every mistake. `resolve.rs` merges the files
//! into a [`Config`], which returns the settings for one server, tool or client. Precedence, highest first: command line,
//! environment, project file, user file, built-in default. A project's file may come from a stranger, so it may not set
//! the keys marked `user_only` in `keys.rs`: it can change answers, but not where results go or how long they are kept.
//!
//! `keys.rs` lists every key once. The reader, the JSON Schema, the template of `tidegate config init` and the reference
//! page are generated from that list.
//!
//! ```
//! use tidegate_config::Config;
//! use tidegate_gate::policy::Rules;
//!
//! let text = "[server.github.tool.\"list_*\"]\npage_size = 25\n";
//! let config = Config::parse("tidegate.toml".as_ref(), text).unwrap();
//! let policies = config.policies("github", Rules::default());
//! assert_eq!(policies.of_tool("list_issues").page_size, Some(25));
//! ```

mod access;
mod effective;
mod file;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
mod keys;
mod line;
mod locate;
mod mistake;
mod reference;
mod resolve;
mod schema;
mod secrets;
mod store;
mod template;
mod upstream;
mod value;

pub use access::{Access, AccessIssuer, AccessKey, AccessRole, LogFormat, QueueLimits};
pub use effective::{Effective, EffectiveValue, Origin, Override, Subject};
pub use file::{ConfigFile, Heading, Section, Setting};
pub use keys::{
    DEFAULT_MAX_RESULT_BYTES, DefaultValue, KEYS, Key, KeyGroup, MIN_MAX_RESULT_BYTES, ValueKind,
};
pub use locate::{ConfigPath, FILE_NAME, FileOwner, config_paths, path_to_check, user_file};
pub use mistake::{Mistake, Mistakes};
pub use reference::reference_page;
pub use resolve::Config;
pub use schema::schema;
pub use store::StoreSettingError;
pub use template::template;
pub use upstream::{
    Upstream, UpstreamSharing, UpstreamTargetSetting, UserCredentialPlace, UserCredentialSetting,
};
pub use value::{Value, quoted_key, set_rule};
