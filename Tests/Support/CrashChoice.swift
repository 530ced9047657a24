/// Selects the unsynced changes that survive a power cut.
package enum CrashChoice: Sendable, Hashable {
  case nothing
  /// All changes survive.
  case everything
  /// A random selection of changes survives. The same seed always selects the same changes.
  case seeded(UInt64, CrashMode, CrashOptions = [])
}

/// The distribution of the changes that survive a power cut.
package enum CrashMode: String, Sendable, CaseIterable {
  /// A few sectors of each write survive.
  case mostlyOld
  /// Most sectors of each write survive.
  case mostlyNew
  /// Each sector of each write survives with probability one half.
  case uniform
  /// All writes except the newest survive completely.
  ///
  /// Of the newest write, a random selection of sectors survives.
  case tornNewest
  /// Each write survives completely or not at all.
  case completeWrites
}

/// Additional effects of a power cut.
package struct CrashOptions: OptionSet, Sendable, Hashable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// Any consistent subset of the changes to names can survive.
  ///
  /// Without this option, only the changes made before some point in time survive.
  package static let unorderedNames = CrashOptions(rawValue: 1)
  /// If a file grew and its new bytes were lost, the file contains stale bytes from other files at
  /// that position instead of zeros.
  package static let staleGarbage = CrashOptions(rawValue: 2)
  /// Sectors are 4 KiB long, and each of them either survives completely or is lost.
  package static let largeSectors = CrashOptions(rawValue: 4)
  /// Only a prefix of each write survives.
  ///
  /// The prefix can have any length.
  package static let tornEnds = CrashOptions(rawValue: 8)

  package static func random(using generator: inout SeededGenerator) -> CrashOptions {
    CrashOptions(rawValue: Int(generator.next() % 16))
  }
}

/// Makes the random choices for one simulated crash.
struct CrashDice {
  var generator: SeededGenerator
  let mode: CrashMode
  let options: CrashOptions

  init(seed: UInt64, mode: CrashMode, options: CrashOptions) {
    generator = SeededGenerator(seed: seed)
    self.mode = mode
    self.options = options
  }

  /// Returns how many of `count` ordered changes survive, counted from the first change.
  mutating func prefix(of count: Int) -> Int {
    switch mode {
    case .mostlyOld where generator.isTrue(in256: 160): 0
    case .mostlyNew where generator.isTrue(in256: 160): count
    case .tornNewest: count
    default: generator.below(count + 1)
    }
  }

  /// Returns whether the next of several independent changes survives.
  mutating func keeps() -> Bool {
    switch mode {
    case .mostlyOld: generator.isTrue(in256: 32)
    case .mostlyNew: generator.isTrue(in256: 224)
    case .uniform, .tornNewest, .completeWrites: generator.isTrue(in256: 128)
    }
  }
}
