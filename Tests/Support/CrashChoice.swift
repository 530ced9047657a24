/// The unsynced changes that a power cut keeps.
package enum CrashChoice: Sendable, Hashable {
  /// Only the durable changes.
  case nothing
  /// All changes.
  case everything
  /// A random selection; the same seed keeps the same changes.
  case seeded(UInt64, CrashMode, CrashOptions = [])
}

/// The distribution of the changes that a power cut keeps.
package enum CrashMode: String, Sendable, CaseIterable {
  /// Few sectors of each write.
  case mostlyOld
  /// Most sectors of each write.
  case mostlyNew
  /// Each sector of each write with probability one half.
  case uniform
  /// All but the newest write, and any sectors of that one.
  case tornNewest
  /// Each write completely or not at all.
  case completeWrites
}

/// Further effects of a power cut.
package struct CrashOptions: OptionSet, Sendable, Hashable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// Any consistent set of name changes is kept, not only those before some moment.
  package static let unorderedNames = CrashOptions(rawValue: 1)
  /// If a file grew and its bytes were lost, it contains old bytes of other files instead of zeros.
  package static let staleGarbage = CrashOptions(rawValue: 2)
}

/// The random choices of one crash.
struct CrashDice {
  var generator: SeededGenerator
  let mode: CrashMode
  let options: CrashOptions

  init(seed: UInt64, mode: CrashMode, options: CrashOptions) {
    generator = SeededGenerator(seed: seed)
    self.mode = mode
    self.options = options
  }

  /// Returns how many of `count` ordered changes are kept, from the first on.
  mutating func prefix(of count: Int) -> Int {
    switch mode {
    case .mostlyOld where generator.isTrue(in256: 160): 0
    case .mostlyNew where generator.isTrue(in256: 160): count
    case .tornNewest: count
    default: generator.below(count + 1)
    }
  }

  /// Returns whether one of several independent changes is kept.
  mutating func keeps() -> Bool {
    switch mode {
    case .mostlyOld: generator.isTrue(in256: 32)
    case .mostlyNew: generator.isTrue(in256: 224)
    case .uniform, .tornNewest, .completeWrites: generator.isTrue(in256: 128)
    }
  }
}
