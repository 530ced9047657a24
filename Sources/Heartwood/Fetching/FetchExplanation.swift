/// A human-readable description of how a fetch finds, filters and sorts objects.
///
/// ```swift
/// print(try context.explain(request))
/// // Quake by index time, backwards: about 312 of 200,000 rows, until 100 match.
/// // Filter: magnitude >= 4.5.
/// ```
public struct FetchExplanation: CustomStringConvertible, Sendable {
  /// The steps of the fetch, in order.
  public let steps: [String]
  /// The indexes that the fetch uses, each identified by the names of its attributes.
  ///
  /// The array is empty if the fetch uses no index.
  public let indexes: [String]
  /// The estimated number of rows to examine.
  public let estimatedRowCount: Int

  /// The steps, one per line.
  public var description: String { steps.joined(separator: "\n") }
}

extension FetchExplanation {
  init(_ plan: FetchPlan, _ path: AccessPath, total: Int) {
    let rows = Self.text(Int(path.rowCount.rounded(.up)))
    let uses: [IndexUse] =
      switch path.kind {
      case .everyRow, .objects, .text: []
      case .index(let use): [use]
      case .all(let uses): uses
      }
    var first = plan.entity.name
    switch path.kind {
    case .everyRow: first += ": a scan of all \(Self.text(total)) rows"
    case .objects: first += " by ID: \(rows) rows"
    case .text(let search): first += " by text index \(search.name)"
    case .index, .all:
      let names = uses.map { "\($0.isUnique ? "unique index" : "index") \($0.name)" }
      first += " by \(names.joined(separator: " and "))"
      if path.direction == true { first += ", backwards" }
      first += ": about \(rows) of \(Self.text(total)) rows"
    }
    var steps = [first]
    let stopsEarly = path.direction != nil || !plan.needsSorting
    let isInOrder = stopsEarly && path.leadingTermCount == nil
    let texts = plan.textSearch.map { [$0.name] } ?? []
    if let limit = plan.limit, stopsEarly { steps[0] += ", until \(Self.text(limit)) match" }
    if !plan.isEverything {
      steps.append("Filter: \(plan.namesWithValues.joined(separator: "; "))")
    }
    if !isInOrder {
      let names = plan.order?.terms.map { $0.name + ($0.isReversed ? ", backwards" : "") }
      let key = names.map { " by \($0.joined(separator: ", then "))" } ?? ", comparing objects"
      steps.append(
        "Sort\(key)" + (plan.limit.map { "; keep the first \(Self.text($0))" } ?? ""))
    }
    self.steps = steps.map { $0 + "." }
    indexes = uses.map(\.name) + texts
    estimatedRowCount = Int(path.rowCount.rounded(.up))
  }

  private static func text(_ count: Int) -> String {
    var digits = String(count)
    for offset in stride(from: digits.count - 3, to: 0, by: -3) {
      digits.insert(",", at: digits.index(digits.startIndex, offsetBy: offset))
    }
    return digits
  }
}
