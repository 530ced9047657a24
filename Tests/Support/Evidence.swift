public import Testing

/// Says which numbered clause of the documents a test proves.
///
/// `Docs/Reference/Engine.md` and `Docs/Reference/ObjectGraph.md` number their guarantees
/// (`**D3.** …`, `**F-01.** …`); every one of them must be cited by at least one test, and a test
/// of the rules checks that.
public struct Evidence: TestTrait, SuiteTrait {
  /// The clause, as it is numbered in the document.
  public let clause: String
}

extension Trait where Self == Evidence {
  /// Cites a clause.
  public static func evidence(_ clause: String) -> Evidence { Evidence(clause: clause) }
}
