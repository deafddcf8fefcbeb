//! The keys of `[store]` and `[store.objects]`, which only the user may set.

use tidegate_store::Quotas;

use super::{BYTES, DEFAULT_MAX_RESULT_BYTES, DefaultValue, Key, KeyGroup, RESULT_BYTES, ValueKind, rule};

pub(super) const KEYS: &[Key] = &[
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
];

const fn store(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group: KeyGroup::Store, ..rule(name, kind, default) }.user_only()
}

const fn objects(name: &'static str, kind: ValueKind, default: DefaultValue) -> Key {
    Key { group: KeyGroup::Objects, ..store(name, kind, default) }
}
