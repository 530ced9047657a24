public import Foundation

// On Linux, Foundation has no predicate node for `localizedStandardContains`, so this file defines
// one. The node ignores case and diacritics, as `CONTAINS[cd]` does in a format string.

#if !canImport(Darwin)
  extension PredicateExpressions {
    /// An expression that tests whether a string contains another string, ignoring case and
    /// diacritics.
    public struct StringLocalizedStandardContains<
      Root: StandardPredicateExpression<String>, Other: StandardPredicateExpression<String>
    >: StandardPredicateExpression {
      let root: Root
      let other: Other

      /// Returns whether the first string contains the second string.
      ///
      /// - Throws: Any error that occurs while the operands are evaluated.
      public func evaluate(_ bindings: PredicateBindings) throws -> Bool {
        let text = try root.evaluate(bindings)
        return TextPattern(try other.evaluate(bindings), .contains, [.case, .diacritics])
          .matches(text)
      }
    }

    /// Returns the node for a call to `localizedStandardContains` in a `#Predicate`.
    public static func build_localizedStandardContains<Root, Other>(
      _ root: Root, _ other: Other
    ) -> StringLocalizedStandardContains<Root, Other> {
      StringLocalizedStandardContains(root: root, other: other)
    }
  }
#endif

extension PredicateExpressions.StringLocalizedStandardContains: TranslatableNode {
  func translated(by translation: PredicateTranslation) throws -> QueryExpression {
    .text(
      try translation.expression(of: root), .contains, try translation.expression(of: other),
      [.case, .diacritics])
  }
}
