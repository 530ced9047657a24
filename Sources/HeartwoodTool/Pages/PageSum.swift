import HeartwoodEngine

/// The numbers of pages and used bytes in a generation, in total and for each kind of page.
struct PageSum {
  /// The totals for the pages of one kind.
  struct Share {
    var pageCount = 0
    var usedByteCount = 0
  }

  let generation: Generation
  let pageByteCount: Int
  let pageCount: Int
  /// A histogram of the fill levels of leaf pages, in steps of 10 percent.
  ///
  /// The first element is the number of leaf pages that are less than 10 percent full. The last
  /// element is the number of leaf pages that are at least 90 percent full.
  let leafCounts: [Int]
  private let shares: [PageUsage.Kind: Share]

  init(_ pages: [PageUsage], pageByteCount: Int, _ generation: Generation) {
    self.generation = generation
    self.pageByteCount = pageByteCount
    pageCount = pages.count
    var shares: [PageUsage.Kind: Share] = [:]
    var leafCounts = Array(repeating: 0, count: 10)
    for page in pages {
      shares[page.kind, default: Share()].pageCount += 1
      shares[page.kind, default: Share()].usedByteCount += Int(page.usedByteCount)
      guard page.kind == .leaf else { continue }
      leafCounts[min(Int(page.usedByteCount) * 10 / pageByteCount, 9)] += 1
    }
    self.shares = shares
    self.leafCounts = leafCounts
  }

  subscript(kind: PageUsage.Kind) -> Share { shares[kind] ?? Share() }

  /// The total number of used bytes in all pages.
  var usedByteCount: Int { shares.values.reduce(0) { $0 + $1.usedByteCount } }

  /// Returns the average fill level of the pages of `kind` in percent.
  ///
  /// The result is "-" if there are no such pages, or if `kind` is `free` or `damaged`.
  func fill(_ kind: PageUsage.Kind) -> String {
    let share = self[kind]
    guard kind != .free, kind != .damaged, share.pageCount > 0 else { return "-" }
    return HumanText.share(share.usedByteCount, of: share.pageCount * pageByteCount)
  }

  /// A one-line summary to show above the chart.
  var headline: String {
    "\(generation), \(HumanText.count(pageCount, "page")) of "
      + "\(HumanText.count(pageByteCount, "byte")), "
      + "\(HumanText.size(pageCount * pageByteCount)), "
      + "\(HumanText.share(usedByteCount, of: pageCount * pageByteCount)) in use"
  }
}

extension PageUsage.Kind {
  /// All kinds of pages in display order, with free and damaged pages last.
  static let drawn: [PageUsage.Kind] = [
    .leaf, .branch, .overflow, .overflowIndex, .bitmap, .free, .damaged,
  ]

  /// The name of the kind in JSON.
  var word: String {
    switch self {
    case .free: "free"
    case .bitmap: "bitmap"
    case .branch: "branch"
    case .leaf: "leaf"
    case .overflow: "overflow"
    case .overflowIndex: "overflowIndex"
    case .damaged: "damaged"
    }
  }

  /// The name of the kind in text output.
  var title: String { self == .overflowIndex ? "overflow index" : word }
}
