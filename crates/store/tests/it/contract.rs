//! The contract suite on every backend. The cases are in `testkit::contract`.

mod sqlite_in_memory {
    use tidegate_store::{SqliteStore, StoreOptions};
    use tidegate_testkit::contract::Made;

    tidegate_testkit::contract_tests!(|quotas, clock| Made::alone(
        SqliteStore::ephemeral(StoreOptions::from(quotas).with_clock(clock)).unwrap()
    ));
}

mod sqlite_in_a_file {
    use tidegate_store::{SqliteStore, StoreOptions};
    use tidegate_testkit::contract::Made;

    tidegate_testkit::contract_tests!(|quotas, clock| {
        let folder = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(
            &folder.path().join("artifacts.db"),
            StoreOptions::from(quotas).with_clock(clock),
        )
        .unwrap();
        Made::with(store, folder)
    });
}

mod folder_of_files {
    use tidegate_store::{FolderStore, StoreOptions};
    use tidegate_testkit::contract::Made;

    tidegate_testkit::contract_tests!(|quotas, clock| {
        let folder = tempfile::tempdir().unwrap();
        let store =
            FolderStore::open(&folder.path().join("artifacts"), StoreOptions::from(quotas).with_clock(clock))
                .unwrap();
        Made::with(store, folder)
    });
}

mod memory {
    use tidegate_store::MemoryStore;
    use tidegate_testkit::contract::Made;

    tidegate_testkit::contract_tests!(|quotas, clock| Made::alone(MemoryStore::new_with(quotas, clock)));
}

#[cfg(feature = "postgres")]
mod postgres {
    use tidegate_store::PostgresStore;
    use tidegate_testkit::contract::Made;
    use tidegate_testkit::servers;

    tidegate_testkit::contract_tests!(|quotas, clock| {
        let options = servers::postgres()?.new_store();
        Made::alone(PostgresStore::connect(&options, quotas, clock).unwrap())
    });
}

#[cfg(feature = "objects")]
mod postgres_and_objects {
    use tidegate_store::{PostgresOptions, PostgresStore};
    use tidegate_testkit::contract::Made;
    use tidegate_testkit::servers;

    tidegate_testkit::contract_tests!(|quotas, clock| {
        let objects = Some(servers::objects()?.new_prefix());
        let options = PostgresOptions { objects, ..servers::postgres()?.new_store() };
        Made::alone(PostgresStore::connect(&options, quotas, clock).unwrap())
    });
}
