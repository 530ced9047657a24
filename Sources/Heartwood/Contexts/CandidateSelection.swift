/// The candidates of a fetch that are left while rows are gone through.
struct CandidateSelection {
  typealias Candidate = ManagedObjectContext.Candidate

  private let plan: FetchPlan
  /// Whether candidates come in the order of the plan.
  let areInOrder: Bool
  /// Whether candidates have to know what they are sorted by.
  let needsKeys: Bool
  /// Whether what is wanted of rows is taken as they come: it is not if most are dropped again.
  let completesAtOnce: Bool
  private(set) var candidates: [Candidate] = []
  /// By how many terms candidates come in order, if not by all; they are in groups then.
  private let leadingTermCount: Int?
  /// What the last candidate is sorted by, if they are.
  private var lastKeys: FetchOrder.Keys?

  /// How many candidates beyond twice the limit are kept before they are sorted.
  private static let mostSpare = 256

  init(
    _ plan: FetchPlan, _ path: AccessPath, _ content: ManagedObjectContext.CandidateContent,
    keepsKeys: Bool
  ) {
    self.plan = plan
    leadingTermCount = path.leadingTermCount
    areInOrder =
      plan.order != nil
      && (!plan.needsSorting || path.direction != nil && path.leadingTermCount == nil)
    needsKeys = plan.order != nil && (keepsKeys || !areInOrder)
    let wantsNothing = if case .number = content { true } else { false }
    completesAtOnce = wantsNothing || areInOrder || plan.order == nil || plan.limit == nil
  }

  /// Takes a candidate up; false if no more are needed.
  mutating func add(_ candidate: Candidate) -> Bool {
    if isBehindLimit(candidate) { return false }
    candidates.append(candidate)
    guard let limit = plan.limit, plan.order != nil else { return true }
    if areInOrder { return candidates.count < limit }
    // Now and then, so that each row costs a constant.
    if candidates.count >= Self.mostSpare, (candidates.count - Self.mostSpare) / 2 >= limit {
      candidates = plan.first(of: candidates, areInOrder: false)
    }
    return true
  }
}

extension CandidateSelection {
  /// Whether a candidate begins another group than that in which the limit was reached.
  private mutating func isBehindLimit(_ candidate: Candidate) -> Bool {
    guard let leadingTermCount, let limit = plan.limit, let order = plan.order,
      let keys = candidate.keys
    else { return false }
    defer { lastKeys = keys }
    guard let lastKeys, candidates.count >= limit else { return false }
    return !order.areTogether(lastKeys, keys, termCount: leadingTermCount)
  }
}

extension FetchPlan {
  /// The first candidates of some, in the order of the plan; all if objects are compared.
  func first(
    of candidates: [ManagedObjectContext.Candidate], areInOrder: Bool
  ) -> [ManagedObjectContext.Candidate] {
    guard let order else { return candidates }
    var result = candidates
    if !areInOrder {
      result.sort { first, second in
        guard let first = first.keys, let second = second.keys else {
          preconditionFailure("a candidate without what it is sorted by")
        }
        return order.areInOrder(first, second)
      }
    }
    return limit.map { Array(result.prefix($0)) } ?? result
  }
}
