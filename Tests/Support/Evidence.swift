public import Testing

/// Cites the numbered guarantee that a test proves.
///
/// `Docs/Reference/Engine.md` and `Docs/Reference/ObjectGraph.md` number their guarantees
/// (`**D3.** …`, `**F-01.** …`); a test checks that at least one test cites each of them.
public struct Evidence: TestTrait, SuiteTrait {
  /// The number of the guarantee in the document.
  public let guarantee: String
}

extension Trait where Self == Evidence {
  /// Cites a guarantee.
  public static func evidence(_ guarantee: String) -> Evidence { Evidence(guarantee: guarantee) }
}
