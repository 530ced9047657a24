/// What a power cut keeps of the changes that were not synced.
package enum CrashChoice: Sendable, Hashable {
  /// Only what is durable.
  case nothing
  /// All of it.
  case everything
  /// What chance keeps; the same seed keeps the same.
  case seeded(UInt64, CrashMode, CrashOptions = [])
}

/// How chance decides what a power cut keeps.
package enum CrashMode: String, Sendable, CaseIterable {
  /// Of each write few sectors are kept.
  case mostlyOld
  /// Of each write most sectors are kept.
  case mostlyNew
  /// Each sector of each write is kept or not.
  case uniform
  /// All but the newest write are kept, and of that one any of its sectors.
  case tornNewest
  /// Each write is kept as a whole or not at all.
  case completeWrites
}

/// Further freedom of a power cut.
package struct CrashOptions: OptionSet, Sendable, Hashable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// Any set of name changes that fit together is kept, not only those before some moment.
  package static let unorderedNames = CrashOptions(rawValue: 1)
  /// Where a file grew and its bytes were lost, it shows old bytes of other files, not zeros.
  package static let staleGarbage = CrashOptions(rawValue: 2)
}

/// The chance behind one crash.
struct CrashDice {
  var generator: SeededGenerator
  let mode: CrashMode
  let options: CrashOptions

  init(seed: UInt64, mode: CrashMode, options: CrashOptions) {
    generator = SeededGenerator(seed: seed)
    self.mode = mode
    self.options = options
  }

  /// How many of `count` ordered changes are kept, from the first on.
  mutating func prefix(of count: Int) -> Int {
    switch mode {
    case .mostlyOld where generator.isTrue(in256: 160): 0
    case .mostlyNew where generator.isTrue(in256: 160): count
    case .tornNewest: count
    default: generator.below(count + 1)
    }
  }

  /// Whether one of several independent changes is kept.
  mutating func keeps() -> Bool {
    switch mode {
    case .mostlyOld: generator.isTrue(in256: 32)
    case .mostlyNew: generator.isTrue(in256: 224)
    case .uniform, .tornNewest, .completeWrites: generator.isTrue(in256: 128)
    }
  }
}
