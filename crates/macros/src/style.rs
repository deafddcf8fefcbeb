//! Keys that have an effect only with one style; beside another style they are compile errors.

use proc_macro2::TokenStream as Tokens;
use quote::quote;
use syn::{Error, Expr, ExprLit, Ident, Lit, MetaNameValue};

/// Returns the value of a key that has an effect only with one style.
///
/// Fails if the attribute sets another style. An attribute without a style passes, since the rules for all tools may set it.
pub(crate) fn only_with(
    needed: &str,
    style: Option<&MetaNameValue>,
    key: &Ident,
    value: Tokens,
) -> Result<Tokens, Error> {
    let Some(style) = style.map(|style| &style.value) else { return Ok(value) };
    match style {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) if text.value() == needed => Ok(value),
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Err(Error::new(
            key.span(),
            format!("{key} has no effect with style = {:?}; it needs style = {needed:?}", text.value()),
        )),
        // Only the compiler knows the value of a constant.
        constant => {
            let message = format!("{key} has no effect with another style than {needed}");
            Ok(quote! {
                {
                    const _: &str = ::tidegate_sdk::Heavy::one_of(#constant, &[#needed], #message);
                    #value
                }
            })
        }
    }
}
