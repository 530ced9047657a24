/// Which lists an object of an entity may belong to.
///
/// A list whose predicate wants certain values of a property is found by the value an object has
/// there, so that of a thousand lists that each want others, few are asked about each object. It
/// may name a list that does not want the object, and never leaves out one that does.
struct ListDirectory {
  /// The lists that want some range of the values of one property.
  private struct Ranges {
    let slot: Int
    private var ranges: [Range] = []
    /// For the middle of each part that a search divides, the greatest end within that part; `nil`
    /// where one of them has none.
    private var ends: [StoredValue?] = []

    struct Range {
      /// The first and the last value; `nil` where there is none.
      let lower: StoredValue?
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

    private mutating func fill(_ part: Swift.Range<Int>) {
      guard !part.isEmpty else { return }
      let middle = (part.lowerBound + part.upperBound) / 2
      let halves = [part.lowerBound..<middle, middle + 1..<part.upperBound]
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

    /// Calls `body` for each range that a value is in.
    func forEach(at value: StoredValue, _ body: (LiveList) -> Void) {
      func search(_ part: Swift.Range<Int>) {
        guard !part.isEmpty else { return }
        let middle = (part.lowerBound + part.upperBound) / 2
        if let end = ends[middle], (value.order(to: end) ?? 1) > 0 { return }
        search(part.lowerBound..<middle)
        let range = ranges[middle]
        if let lower = range.lower, (value.order(to: lower) ?? -1) < 0 { return }
        if range.upper.map({ (value.order(to: $0) ?? 1) <= 0 }) ?? true { body(range.list) }
        search(middle + 1..<part.upperBound)
      }
      search(0..<ranges.count)
    }
  }

  /// All lists of the entity.
  let all: [LiveList]
  /// Those that any object may belong to.
  private let others: [LiveList]
  private let ranges: [Ranges]

  /// With so few lists, asking all of them takes less time than finding out which.
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

  /// Whether every list may want every object.
  var namesAll: Bool { ranges.isEmpty }

  /// The lists that want an object as it is, or as it was, in one of several ways.
  struct Search {
    private let directory: ListDirectory
    private(set) var lists: [LiveList]
    private var found: Set<ObjectIdentifier> = []

    init(_ directory: ListDirectory) {
      self.directory = directory
      lists = directory.others
    }

    /// Adds those that want an object with these values.
    ///
    /// - Parameter value: The value of the property of a slot.
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
  /// The values asked for, as ranges with both ends; `nil` if they cannot be told like that.
  var ranges: [(lower: StoredValue?, upper: StoredValue?)]? {
    // What has no order with itself has none with others.
    func isOrdered(_ value: StoredValue) -> Bool { value.order(to: value) == 0 }
    if let values {
      return values.allSatisfy(isOrdered) ? values.map { ($0, $0) } : nil
    }
    let ends = [lower, upper].compactMap { $0 }
    return !ends.isEmpty && ends.allSatisfy(isOrdered) ? [(lower, upper)] : nil
  }
}
