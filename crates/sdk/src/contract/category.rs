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

    #[test]
    fn a_category_limits_the_bytes_alone() {
        let limits = ResponseLimits::from(Category::List);
        assert_eq!(limits, ResponseLimits::default().with_max_bytes(2048));
    }
}
