public import Testing

/// Cites the numbered guarantee that a test checks.
///
/// `Docs/Reference/Engine.md` and `Docs/Reference/ObjectGraph.md` number their guarantees (`**D3.**
/// …`, `**F-01.** …`). Another test checks that each guarantee is cited by at least one test.
public struct Evidence: TestTrait, SuiteTrait {
  /// The number of the guarantee in its document.
  public let guarantee: String
}

extension Trait where Self == Evidence {
  /// Cites the guarantee with the given number.
  public static func evidence(_ guarantee: String) -> Evidence { Evidence(guarantee: guarantee) }
}
