/// Measures the disk space of a store while one large value is overwritten repeatedly, both with
/// and without a reader that pins the first version.
struct Overwrites {
  let engines: [any RowEngine]
  let rows: QuakeRows
  let directory: StoreDirectory
  let progress: Progress

  private static let valueByteCount = 32 << 10
  private static let mostOverwrites = 10_000
  private static let lookCount = 100

  /// The measurements of an engine.
  struct Outcome {
    let engine: String
    let isPinned: Bool
    let overwriteCount: Int
    /// The samples.
    ///
    /// Each sample contains the number of overwrites so far and the disk space occupied by the
    /// files.
    let looks: [(overwrites: Int, byteCount: Int)]

    /// The disk space, plotted against the number of overwrites.
    var curve: Curve {
      Curve(
        name: isPinned ? "pinned" : "unpinned", horizontal: "overwrites", vertical: "bytes",
        points: looks.map { [Double($0.overwrites), Double($0.byteCount)] })
    }

    var greatest: Int { looks.map(\.byteCount).max() ?? 0 }
  }

  func run() throws -> [Outcome] {
    try [true, false].flatMap { isPinned in
      try engines.map { try run($0, isPinned: isPinned) }
    }
  }

  private func run(_ engine: any RowEngine, isPinned: Bool) throws -> Outcome {
    let name = StoreDirectory.scratch + "-" + engine.name
    try directory.remove(name)
    defer { try? directory.remove(name) }
    let store = try engine.makeStore(in: directory.path + "/" + name, rows)
    var value = Array(rows.block.prefix(Self.valueByteCount))
    value += repeatElement(1, count: Self.valueByteCount - value.count)
    try store.putLarge(value)
    let pin = isPinned ? try store.pin() : nil
    let count = min(Self.mostOverwrites, rows.count)
    var looks: [(overwrites: Int, byteCount: Int)] = []
    for number in 1...count {
      value[number % Self.valueByteCount] &+= 1
      try store.putLarge(value)
      guard number % max(count / Self.lookCount, 1) == 0 else { continue }
      looks.append((number, try directory.allocatedByteCount(name)))
      progress.show(
        Workload.overwrite.rawValue + " \(engine.name)", fraction: Double(number) / Double(count))
    }
    withExtendedLifetime(pin) {}
    try store.finish()
    return Outcome(
      engine: engine.name, isPinned: isPinned, overwriteCount: count, looks: looks)
  }
}
