//! The limits of a response by the category of its tool.

pub use tidegate_gate::style::category::Category;

use super::ResponseLimits;

impl From<Category> for ResponseLimits {
    /// Returns the default limits with the bytes of the category.
    fn from(category: Category) -> Self {
        Self::default().with_max_bytes(category.bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finding 16 of the SDK review: the SDK had a table of categories of its own, which differed. Now there is one, in the
    /// gate, which policies use too.
    #[test]
    fn a_category_limits_the_bytes_alone() {
        let limits = ResponseLimits::from(Category::List);
        assert_eq!(limits, ResponseLimits::default().with_max_bytes(2048));
    }
}
