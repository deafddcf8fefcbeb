//! The stock in SQLite, in memory or in a file.
//!
//! SQLite formats the rows as JSON, so results go from the database to the client without a detour through Rust types.
//!
//! Invariant: every change of a quantity and its row in `movements` are written in one transaction.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use example_shared::open_database;
use rusqlite::{
    Connection, OptionalExtension, ToSql, Transaction, TransactionBehavior, named_params, params,
};

use crate::catalogue::{PRODUCTS, WAREHOUSES, product, quantity};

const SCHEMA: &str = "
    create table products (sku text primary key, name text not null, category text not null, cents integer not null) strict;
    create table warehouses (id text primary key, city text not null) strict;
    create table stock (
        id integer primary key, sku text not null references products, warehouse text not null references warehouses,
        quantity integer not null check (quantity >= 0), unique (warehouse, sku)
    ) strict;
    create table movements (
        id integer primary key, stock integer not null references stock, change integer not null, reason text not null
    ) strict;
    pragma user_version = 1;
";
/// Selects stock records as JSON.
const SELECT_RECORD: &str = "
    select json_object('id', stock.id, 'sku', sku, 'product', json_object('name', name, 'category', category),
        'warehouse', json_object('id', warehouse, 'city', city), 'quantity', quantity)
    from stock join products using (sku) join warehouses on warehouses.id = warehouse
";

/// Why a query or a change failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StockError {
    /// The warehouse does not exist.
    #[error("unknown warehouse {0:?}; the warehouses are {all}", all = WAREHOUSES.map(|(id, _)| id).join(", "))]
    Warehouse(String),
    /// The product does not exist.
    #[error("unknown product {0:?}; find the sku with products.search")]
    Product(String),
    /// The change would make the stock negative.
    #[error("{warehouse} has {quantity} of {sku}, so change must be at least -{quantity}, not {change}")]
    TooFew {
        /// The warehouse.
        warehouse: String,
        /// The product.
        sku: String,
        /// The quantity in stock.
        quantity: i64,
        /// The requested change.
        change: i64,
    },
    /// The database failed.
    #[error("the database is unavailable; try again")]
    Database(#[from] rusqlite::Error),
}

/// The stock of all warehouses. Clones share the connection.
#[derive(Debug, Clone)]
pub struct Stock {
    connection: Arc<Mutex<Connection>>,
}

impl Stock {
    /// Opens a stock in a file or in memory, and fills a new one with records.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be opened or is not a database.
    pub fn open(file: Option<&Path>) -> Result<Self, rusqlite::Error> {
        let connection = open_database(file, SCHEMA, fill)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rows of a statement, which are JSON values, as a JSON array.
    fn json_array(&self, statement: &str, parameters: &[(&str, &dyn ToSql)]) -> Result<String, StockError> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(statement)?;
        let rows = statement.query_map(parameters, |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        Ok(format!("[{}]", rows.join(",")))
    }

    /// Returns the records of one warehouse or all, as JSON.
    ///
    /// # Errors
    ///
    /// Fails if the warehouse does not exist, or if the database fails.
    pub fn records(&self, warehouse: Option<&str>) -> Result<String, StockError> {
        check_warehouse(warehouse)?;
        let statement =
            format!("{SELECT_RECORD} where warehouse = coalesce(:warehouse, warehouse) order by stock.id");
        self.json_array(&statement, named_params! {":warehouse": warehouse})
    }

    /// Returns the records with a quantity below a threshold, lowest first.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub fn below(&self, quantity: u32) -> Result<String, StockError> {
        let statement = format!("{SELECT_RECORD} where quantity < :quantity order by quantity, stock.id");
        self.json_array(&statement, named_params! {":quantity": quantity})
    }

    /// Returns the products whose name contains a text, of one category or all, with their total stock.
    ///
    /// # Errors
    ///
    /// Fails if the database fails.
    pub fn products(&self, query: &str, category: Option<&str>) -> Result<String, StockError> {
        let statement = "
            select json_object('sku', sku, 'name', name, 'category', category, 'price', cents / 100.0,
                'in_stock', (select sum(quantity) from stock where stock.sku = products.sku))
            from products where instr(lower(name), lower(:query)) > 0 and category = coalesce(:category, category)
            order by sku";
        self.json_array(statement, named_params! {":query": query, ":category": category})
    }

    /// Returns all changes, newest first.
    ///
    /// # Errors
    ///
    /// Fails if the warehouse does not exist, or if the database fails.
    pub fn movements(&self, warehouse: Option<&str>) -> Result<String, StockError> {
        check_warehouse(warehouse)?;
        let statement = "
            select json_object('movement', movements.id, 'warehouse', warehouse, 'sku', sku, 'change', change, 'reason', reason)
            from movements join stock on stock.id = stock where warehouse = coalesce(:warehouse, warehouse)
            order by movements.id desc";
        self.json_array(statement, named_params! {":warehouse": warehouse})
    }

    /// Changes the stock of a product in a warehouse and returns the new record.
    ///
    /// # Errors
    ///
    /// Fails if the product or warehouse does not exist, or if the stock would become negative.
    pub fn adjust(
        &self,
        sku: &str,
        warehouse: &str,
        change: i64,
        reason: &str,
    ) -> Result<String, StockError> {
        check_warehouse(Some(warehouse))?;
        let mut connection = self.connection();
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found: Option<(i64, i64)> = transaction
            .prepare_cached("select id, quantity from stock where sku = ? and warehouse = ?")?
            .query_row([sku, warehouse], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((id, quantity)) = found else {
            return Err(StockError::Product(sku.chars().take(60).collect()));
        };
        if quantity.saturating_add(change) < 0 {
            let (warehouse, sku) = (warehouse.to_owned(), sku.to_owned());
            return Err(StockError::TooFew { warehouse, sku, quantity, change });
        }
        transaction.execute("update stock set quantity = quantity + ? where id = ?", [change, id])?;
        transaction.execute(
            "insert into movements (stock, change, reason) values (?, ?, ?)",
            params![id, change, reason],
        )?;
        let record =
            transaction.query_row(&format!("{SELECT_RECORD} where stock.id = ?"), [id], |row| row.get(0))?;
        transaction.commit()?;
        Ok(record)
    }
}

fn check_warehouse(warehouse: Option<&str>) -> Result<(), StockError> {
    match warehouse.filter(|given| !WAREHOUSES.iter().any(|(id, _)| id == given)) {
        Some(unknown) => Err(StockError::Warehouse(unknown.chars().take(60).collect())),
        None => Ok(()),
    }
}

fn fill(transaction: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    for (id, city) in WAREHOUSES {
        transaction.execute("insert into warehouses values (?, ?)", [id, city])?;
    }
    let mut insert = transaction.prepare("insert into products values (?, ?, ?, ?)")?;
    for number in 0..PRODUCTS {
        let product = product(number);
        insert.execute(params![product.sku, product.name, product.category, product.cents])?;
    }
    let mut insert = transaction.prepare("insert into stock (sku, warehouse, quantity) values (?, ?, ?)")?;
    let mut insert_movement =
        transaction.prepare("insert into movements (stock, change, reason) values (?, ?, 'first count')")?;
    for (index, (warehouse, _)) in WAREHOUSES.iter().enumerate() {
        for number in 0..PRODUCTS {
            insert.execute(params![product(number).sku, warehouse, quantity(number, index)])?;
            insert_movement.execute(params![transaction.last_insert_rowid(), quantity(number, index)])?;
        }
    }
    Ok(())
}
