//! The stock in SQLite, in memory or in a file, which writes the JSON of its rows itself. What is changed is written down in
//! the same transaction.

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
/// Rows of the stock as they are told.
const RECORD: &str = "
    select json_object('id', stock.id, 'sku', sku, 'product', json_object('name', name, 'category', category),
        'warehouse', json_object('id', warehouse, 'city', city), 'quantity', quantity)
    from stock join products using (sku) join warehouses on warehouses.id = warehouse
";

/// What is wrong with a request, or with the database.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StockError {
    /// A warehouse that there is not.
    #[error("there is no warehouse {0:?}; there are {all}", all = WAREHOUSES.map(|(id, _)| id).join(", "))]
    Warehouse(String),
    /// A product that there is not.
    #[error("there is no product {0:?}; products.search finds the sku of a product")]
    Product(String),
    /// More is taken than is there.
    #[error(
        "{warehouse} has {quantity} of {sku}, so a change of {change} is not possible; the least is -{quantity}"
    )]
    TooFew {
        /// Where.
        warehouse: String,
        /// Of what.
        sku: String,
        /// What is there.
        quantity: i64,
        /// What was asked for.
        change: i64,
    },
    /// The database fails.
    #[error("the database cannot be used now; try again")]
    Database(#[from] rusqlite::Error),
}

/// The stock of all warehouses. A clone is the same one.
#[derive(Debug, Clone)]
pub struct Stock {
    connection: Arc<Mutex<Connection>>,
}

impl Stock {
    /// Opens a file, or a stock in memory. A new one is filled.
    ///
    /// # Errors
    ///
    /// A file that cannot be opened, or that is no database.
    pub fn open(file: Option<&Path>) -> Result<Self, rusqlite::Error> {
        let connection = open_database(file, SCHEMA, fill)?;
        Ok(Self { connection: Arc::new(Mutex::new(connection)) })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the rows of a statement, each of which is JSON already, as a list.
    fn list(&self, statement: &str, bound: &[(&str, &dyn ToSql)]) -> Result<String, StockError> {
        let connection = self.connection();
        let mut statement = connection.prepare_cached(statement)?;
        let rows = statement.query_map(bound, |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
        Ok(format!("[{}]", rows.join(",")))
    }

    /// Returns the records of all warehouses, or of one, as JSON.
    ///
    /// # Errors
    ///
    /// A warehouse that there is not, or a database that fails.
    pub fn records(&self, warehouse: Option<&str>) -> Result<String, StockError> {
        known(warehouse)?;
        let statement =
            format!("{RECORD} where warehouse = coalesce(:warehouse, warehouse) order by stock.id");
        self.list(&statement, named_params! {":warehouse": warehouse})
    }

    /// Returns the records of which fewer than so many are there, fewest first.
    ///
    /// # Errors
    ///
    /// A database that fails.
    pub fn below(&self, quantity: u32) -> Result<String, StockError> {
        let statement = format!("{RECORD} where quantity < :quantity order by quantity, stock.id");
        self.list(&statement, named_params! {":quantity": quantity})
    }

    /// Returns the products whose name has a text, of all categories or one, with what all warehouses have of them.
    ///
    /// # Errors
    ///
    /// A database that fails.
    pub fn products(&self, query: &str, category: Option<&str>) -> Result<String, StockError> {
        let statement = "
            select json_object('sku', sku, 'name', name, 'category', category, 'price', cents / 100.0,
                'in_stock', (select sum(quantity) from stock where stock.sku = products.sku))
            from products where instr(lower(name), lower(:query)) > 0 and category = coalesce(:category, category)
            order by sku";
        self.list(statement, named_params! {":query": query, ":category": category})
    }

    /// Returns every change there was, the newest first.
    ///
    /// # Errors
    ///
    /// A warehouse that there is not, or a database that fails.
    pub fn movements(&self, warehouse: Option<&str>) -> Result<String, StockError> {
        known(warehouse)?;
        let statement = "
            select json_object('movement', movements.id, 'warehouse', warehouse, 'sku', sku, 'change', change, 'reason', reason)
            from movements join stock on stock.id = stock where warehouse = coalesce(:warehouse, warehouse)
            order by movements.id desc";
        self.list(statement, named_params! {":warehouse": warehouse})
    }

    /// Adds to what a warehouse has of a product, or takes from it, and returns the record.
    ///
    /// # Errors
    ///
    /// A product or a warehouse that there is not, or fewer than are taken.
    pub fn adjust(
        &self,
        sku: &str,
        warehouse: &str,
        change: i64,
        reason: &str,
    ) -> Result<String, StockError> {
        known(Some(warehouse))?;
        let mut connection = self.connection();
        let changing = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found: Option<(i64, i64)> = changing
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
        changing.execute("update stock set quantity = quantity + ? where id = ?", [change, id])?;
        changing.execute(
            "insert into movements (stock, change, reason) values (?, ?, ?)",
            params![id, change, reason],
        )?;
        let record = changing.query_row(&format!("{RECORD} where stock.id = ?"), [id], |row| row.get(0))?;
        changing.commit()?;
        Ok(record)
    }
}

fn known(warehouse: Option<&str>) -> Result<(), StockError> {
    match warehouse.filter(|wanted| !WAREHOUSES.iter().any(|(id, _)| id == wanted)) {
        Some(unknown) => Err(StockError::Warehouse(unknown.chars().take(60).collect())),
        None => Ok(()),
    }
}

fn fill(filling: &Transaction<'_>) -> Result<(), rusqlite::Error> {
    for (id, city) in WAREHOUSES {
        filling.execute("insert into warehouses values (?, ?)", [id, city])?;
    }
    let mut add = filling.prepare("insert into products values (?, ?, ?, ?)")?;
    for number in 0..PRODUCTS {
        let product = product(number);
        add.execute(params![product.sku, product.name, product.category, product.cents])?;
    }
    let mut add = filling.prepare("insert into stock (sku, warehouse, quantity) values (?, ?, ?)")?;
    let mut count =
        filling.prepare("insert into movements (stock, change, reason) values (?, ?, 'first count')")?;
    for (at, (warehouse, _)) in WAREHOUSES.iter().enumerate() {
        for number in 0..PRODUCTS {
            add.execute(params![product(number).sku, warehouse, quantity(number, at)])?;
            count.execute(params![filling.last_insert_rowid(), quantity(number, at)])?;
        }
    }
    Ok(())
}
