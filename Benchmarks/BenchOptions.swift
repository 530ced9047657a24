import HeartwoodEngine

/// The options given on the command line.
struct BenchOptions {
  /// The number of rows to load, or `nil` if `--rows` is not given.
  var rows: Int?
  var seconds = 2.0
  /// The number of objects in the object workloads.
  ///
  /// This number never exceeds the number of rows.
  var objectCount = 200_000
  /// The number of entries with byte keys, or `nil` if `--entries` is not given.
  var entries: Int?
  /// The number of entries in the `redb` and YCSB workloads.
  var entryCount: Int { entries ?? rows ?? Self.defaultRows }
  /// A Boolean value that indicates whether the YCSB records fit in the memory available to this
  /// process.
  var entriesFitInMemory: Bool {
    entryCount * EntryWorkloads.entryByteCount <= Machine.memoryByteCount ?? .max
  }
  /// The options for the stores that contain the entries.
  ///
  /// If memory cannot hold all pages, the stores read only the pages that they need.
  var entryStore: StoreOptions {
    var options = store
    if !entriesFitInMemory { options.access = .buffered }
    return options
  }
  /// The length of the log in bytes, for the workload that opens stores.
  var logByteCount = 256 << 20
  var feed: String?
  var json: String?
  /// The file to which an HTML page with charts is written, or `nil` if `--html` is not given.
  var html: String?
  /// The number of rows in the largest store of the scaling workload, or `nil` if `--largest` is
  /// not given.
  var largest: Int?
  var path: String?
  var store = StoreOptions()
  var workloads = Workload.allCases
  /// A Boolean value that indicates whether to compare Heartwood with other libraries, in the
  /// workloads that they support.
  var hasPeers = false
  var wantsHelp = false
  var wantsVersion = false

  static let defaultRows = 1_000_000

  /// Parses the arguments after the program's name.
  ///
  /// `--flag value` and `--flag=value` are equivalent.
  init(_ arguments: [String]) throws {
    var remaining = arguments[...]
    while let argument = remaining.popFirst() {
      let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let name = String(parts[0])
      guard let flag = Flag(rawValue: name) else { throw Self.unknown(name) }
      if flag.placeholder.isEmpty {
        guard parts.count == 1 else {
          throw BenchFailure("\(name) takes no value. Use \(name) alone.")
        }
        try set(flag, "")
        continue
      }
      guard let value = parts.count == 2 ? String(parts[1]) : remaining.popFirst() else {
        throw BenchFailure("\(name) requires a value. Use \(flag.usage).")
      }
      try set(flag, value)
    }
  }

  private mutating func set(_ flag: Flag, _ value: String) throws {
    switch flag {
    case .rows:
      guard let count = Int(value.filter { $0 != "_" && $0 != "," }),
        (1...QuakeRow.maxCount).contains(count)
      else { throw Self.refused(flag, value, "a positive number of rows, such as 1000000") }
      rows = count
    case .seconds:
      guard let number = Double(value), number > 0, number <= 3600 else {
        throw Self.refused(flag, value, "a number of seconds up to 3600, such as 0.5")
      }
      seconds = number
    case .logBytes:
      guard let count = Int(value.filter { $0 != "_" && $0 != "," }), (1...1 << 40).contains(count)
      else { throw Self.refused(flag, value, "a positive number of bytes, such as 1000000000") }
      logByteCount = count
    case .entries:
      guard let count = Int(value.filter { $0 != "_" && $0 != "," }), (1...1 << 32).contains(count)
      else { throw Self.refused(flag, value, "a positive number of entries, such as 5000000") }
      entries = count
    case .dataBytes:
      guard let count = Int(value.filter { $0 != "_" && $0 != "," }), (1...1 << 42).contains(count)
      else { throw Self.refused(flag, value, "a positive number of bytes, such as 40000000000") }
      entries = max(count / EntryWorkloads.entryByteCount, 1)
    case .objects:
      guard let count = Int(value.filter { $0 != "_" && $0 != "," }), (1...1 << 32).contains(count)
      else { throw Self.refused(flag, value, "a positive number of objects, such as 1000000") }
      objectCount = count
    case .pageByteCount:
      guard let size = Int(value), (4096...65536).contains(size), size.nonzeroBitCount == 1 else {
        throw Self.refused(flag, value, "4096, 8192, 16384, 32768 or 65536")
      }
      store.pageByteCount = size
    case .access:
      switch value {
      case "mapped": store.access = .mapped
      case "buffered": store.access = .buffered
      default: throw Self.refused(flag, value, "mapped or buffered")
      }
    case .only:
      workloads = try Self.workloads(named: value)
    case .feed: feed = value
    case .json: json = value
    case .html: html = value
    case .largest:
      guard let count = Int(value.filter { $0 != "_" && $0 != "," }),
        (Workload.smallestScale...QuakeRow.maxCount).contains(count)
      else { throw Self.refused(flag, value, "at least 10000 rows, such as 10000000") }
      largest = count
    case .path: path = value
    case .peers: hasPeers = true
    case .help: wantsHelp = true
    case .version: wantsVersion = true
    }
  }

  private static func workloads(named list: String) throws -> [Workload] {
    let names = list.split(separator: ",").map { String($0) }
    let all = Workload.allCases.map(\.rawValue).joined(separator: ", ")
    let chosen = try Set(
      names.flatMap { name in
        if let workload = Workload(rawValue: name) { return [workload] }
        // The name of a group, such as "text", selects all workloads in the group.
        let group = Workload.allCases.filter { $0.rawValue.hasPrefix(name + "-") }
        guard !group.isEmpty else {
          throw BenchFailure("There is no workload \(name). Use one or more of: \(all).")
        }
        return group
      })
    guard !chosen.isEmpty else {
      throw BenchFailure("--only requires at least one workload. Use one or more of: \(all).")
    }
    return Workload.allCases.filter { chosen.contains($0) }
  }

  private static func refused(_ flag: Flag, _ value: String, _ wanted: String) -> BenchFailure {
    BenchFailure("\(flag.rawValue) \(value) is invalid. Use \(wanted).")
  }

  private static func unknown(_ name: String) -> BenchFailure {
    let near = Flag.allCases.first { flag in
      name.count > 3 && (flag.rawValue.hasPrefix(name) || name.hasPrefix(flag.rawValue))
    }
    if let near {
      return BenchFailure("There is no option \(name). Did you mean \(near.usage)?")
    }
    let all = Flag.allCases.map(\.rawValue).joined(separator: ", ")
    return BenchFailure("There is no option \(name). Use one of: \(all).")
  }
}

extension BenchOptions {
  /// A command-line option.
  ///
  /// The raw value is the name of the option.
  private enum Flag: String, CaseIterable {
    case rows = "--rows"
    case seconds = "--seconds"
    case logBytes = "--log-bytes"
    case entries = "--entries"
    case dataBytes = "--data-bytes"
    case objects = "--objects"
    case feed = "--feed"
    case json = "--json"
    case html = "--html"
    case largest = "--largest"
    case path = "--path"
    case pageByteCount = "--page-size"
    case access = "--access"
    case only = "--only"
    case peers = "--peers"
    case help = "--help"
    case version = "--version"

    /// The option with its placeholder, as in the help text.
    var usage: String { placeholder.isEmpty ? rawValue : "\(rawValue) \(placeholder)" }

    /// The placeholder for the value in the help text, or an empty string for an option without a
    /// value.
    var placeholder: String {
      switch self {
      case .rows, .logBytes, .entries, .dataBytes, .objects, .largest: "N"
      case .seconds: "S"
      case .feed, .json, .html: "FILE"
      case .path: "DIR"
      case .pageByteCount: "BYTES"
      case .access: "mapped|buffered"
      case .only: "NAME,NAME"
      case .peers, .help, .version: ""
      }
    }

    var summary: [String] {
      switch self {
      case .rows: ["rows to load (default: \(defaultRows.grouped), or the complete feed)"]
      case .seconds: ["seconds for each timed workload and library (default: 2)"]
      case .logBytes: ["log length for open-log, in bytes (default: 256 MiB)"]
      case .entries:
        ["entries for redb (5000000 in its table) and for YCSB (default: --rows)"]
      case .dataBytes:
        [
          "set --entries so that the YCSB records have this total size, for example",
          "to exceed the memory that a control group or the machine allows (then",
          "Heartwood uses .buffered, LMDB MDB_NORDAHEAD, and SQLite maps nothing)",
        ]
      case .objects: ["objects in the graph workloads (default: 200,000)"]
      case .feed:
        [
          "take the rows from a USGS GeoJSON summary feed instead of",
          "generating them; they are repeated if --rows is greater",
        ]
      case .json:
        [
          "write the figures as JSON; \"-\" writes them to standard output",
          "and the table to standard error",
        ]
      case .html: ["write a self-contained HTML page with charts"]
      case .largest: ["rows of the largest store for scaling (default: --rows)"]
      case .path:
        [
          "keep the measured store in DIR/quakes",
          "(default: a temporary directory that is removed)",
        ]
      case .pageByteCount: ["page size of the store, 4096 to 65536 (default: the engine's)"]
      case .access: ["how pages are read (default: the engine's)"]
      case .only: ["measure only these workloads; \"text\" selects all that begin with \"text\""]
      case .peers:
        [
          "compare with other libraries (\(Engine.peerNames)), which take turns",
          "with Heartwood; libraries that are not installed are skipped",
        ]
      case .help: ["show this text"]
      case .version: ["show the version"]
      }
    }
  }

  /// The output of `--help`.
  static var helpText: String {
    var lines = [
      "heartwood-bench measures Heartwood on this machine.",
      "",
      "Usage: heartwood-bench [options]",
      "",
    ]
    for flag in Flag.allCases {
      for (index, line) in flag.summary.enumerated() {
        lines.append("  " + (index == 0 ? flag.usage : "").padded(to: 26) + line)
      }
    }
    lines += ["", "Workloads:"]
    lines += Workload.allCases.map { "  " + $0.rawValue.padded(to: 26) + $0.summary }
    lines += [
      "",
      "Reads are checked, and stores are verified at the end. The exit code is 2 after a failure.",
    ]
    return lines.joined(separator: "\n")
  }
}
