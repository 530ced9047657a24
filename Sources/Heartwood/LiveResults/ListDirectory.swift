/// A directory that finds the live lists to which an object of an entity may belong.
///
/// If the predicate of a list requires certain values for a property, the directory finds the list
/// by an object's value for that property. Therefore, even if a thousand lists have different
/// requirements, only a few of them have to evaluate each object. A search returns every list to
/// which the object belongs, and may return other lists as well.
struct ListDirectory {
  /// The lists that require the value of one property to be in certain ranges.
  ///
  /// The ranges form an interval tree, which is stored in an array.
  private struct Ranges {
    let slot: Int
    private var ranges: [Range] = []
    /// The greatest upper bound in each span of the binary search, stored at the middle of the
    /// span.
    ///
    /// An element is `nil` if a range in the span has no upper bound.
    private var ends: [StoredValue?] = []

    struct Range {
      /// The least value of the range, or `nil` if the range has no lower bound.
      let lower: StoredValue?
      /// The greatest value of the range, or `nil` if the range has no upper bound.
      let upper: StoredValue?
      let list: LiveList
    }

    init(_ slot: Int, _ ranges: [Range]) {
      self.slot = slot
      self.ranges = ranges.sorted { first, second in
        guard let lower = second.lower else { return false }
        return first.lower.map { ($0.order(to: lower) ?? 0) < 0 } ?? true
      }
      ends = Array(repeating: nil, count: ranges.count)
      fill(0..<ranges.count)
    }

    private mutating func fill(_ span: Swift.Range<Int>) {
      guard !span.isEmpty else { return }
      let middle = (span.lowerBound + span.upperBound) / 2
      let halves = [span.lowerBound..<middle, middle + 1..<span.upperBound]
      var greatest = ranges[middle].upper
      for half in halves where !half.isEmpty {
        fill(half)
        let end = ends[(half.lowerBound + half.upperBound) / 2]
        if let present = greatest, end.map({ ($0.order(to: present) ?? 0) > 0 }) ?? true {
          greatest = end
        }
      }
      ends[middle] = greatest
    }

    /// Calls `body` with the list of each range that contains the given value.
    ///
    /// NaN is treated as part of every range, although comparisons exclude it. A fetch sorts NaN
    /// last, so a list that begins after a certain value may contain NaN.
    func forEach(at value: StoredValue, _ body: (LiveList) -> Void) {
      if value.isNotANumber {
        for range in ranges { body(range.list) }
        return
      }
      func search(_ span: Swift.Range<Int>) {
        guard !span.isEmpty else { return }
        let middle = (span.lowerBound + span.upperBound) / 2
        if let end = ends[middle], (value.order(to: end) ?? 1) > 0 { return }
        search(span.lowerBound..<middle)
        let range = ranges[middle]
        if let lower = range.lower, (value.order(to: lower) ?? -1) < 0 { return }
        if range.upper.map({ (value.order(to: $0) ?? 1) <= 0 }) ?? true { body(range.list) }
        search(middle + 1..<span.upperBound)
      }
      search(0..<ranges.count)
    }
  }

  /// All lists that can contain objects of the entity.
  let all: [LiveList]
  /// The lists to which any object may belong, because the directory cannot use their requirements.
  private let others: [LiveList]
  private let ranges: [Ranges]

  /// The number of lists up to which evaluating all lists is faster than searching the directory.
  private static let fewLists = 8

  init(_ lists: [LiveList]) {
    all = lists
    var others: [LiveList] = []
    var ranges: [Int: [Ranges.Range]] = [:]
    for list in lists {
      guard lists.count > Self.fewLists, let wanted = list.query.wanted else {
        others.append(list)
        continue
      }
      ranges[wanted.slot, default: []] += wanted.ranges.map {
        Ranges.Range(lower: $0.lower, upper: $0.upper, list: list)
      }
    }
    self.others = others
    self.ranges = ranges.map { Ranges($0.key, $0.value) }
  }

  /// A Boolean value that indicates whether every list must evaluate every object.
  var coversAll: Bool { ranges.isEmpty }

  /// A search for the lists that an object may belong to, based on the object's old or new values.
  struct Search {
    private let directory: ListDirectory
    private(set) var lists: [LiveList]
    private var found: Set<ObjectIdentifier> = []

    init(_ directory: ListDirectory) {
      self.directory = directory
      lists = directory.others
    }

    /// Adds the lists that an object with these values may belong to.
    ///
    /// - Parameter value: A closure that returns the value of the property in a slot.
    mutating func add(_ value: (_ slot: Int) throws -> StoredValue) rethrows {
      for ranges in directory.ranges {
        ranges.forEach(at: try value(ranges.slot)) { list in
          if found.insert(ObjectIdentifier(list)).inserted { lists.append(list) }
        }
      }
    }
  }
}

extension PropertyDemand {
  /// The ranges of values that the demand allows, or `nil` if the values cannot be represented as
  /// ranges.
  var ranges: [(lower: StoredValue?, upper: StoredValue?)]? {
    // A value that has no order, such as NaN, cannot be compared even with itself.
    func isOrdered(_ value: StoredValue) -> Bool { value.order(to: value) == 0 }
    if let values {
      return values.allSatisfy(isOrdered) ? values.map { ($0, $0) } : nil
    }
    let ends = [lower, upper].compactMap { $0 }
    return !ends.isEmpty && ends.allSatisfy(isOrdered) ? [(lower, upper)] : nil
  }
}
