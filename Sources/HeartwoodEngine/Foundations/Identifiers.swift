/// The position of a page in the page file, counted from 0.
///
/// Each new version of a page is written to a different frame, but the page keeps its number.
package typealias PageNumber = UInt32

/// The position of a page image or a group header in the log, counted from 1 and never reused.
package typealias FrameNumber = UInt64

/// The number of a tree within its store.
///
/// Tree 0 is the catalog, and each keyspace has its own tree.
package typealias TreeID = UInt32

/// A committed state of a store, identified by the number of the last log frame in its commit.
///
/// Later generations have higher numbers. The numbers have gaps, because a commit of *n* pages
/// increases the number by *n* + 1 or more. Generation 0 is the empty store. No two states ever
/// have the same number.
public struct Generation: Hashable, Comparable, Codable, Sendable {
  /// The number of the last frame of the commit, or 0 for the empty store.
  public var frame: UInt64

  /// Creates the generation whose commit ended at `frame`.
  public init(frame: UInt64) {
    self.frame = frame
  }

  /// Returns whether the first generation was committed before the second.
  public static func < (earlier: Generation, later: Generation) -> Bool {
    earlier.frame < later.frame
  }
}

extension Generation: CustomStringConvertible {
  /// The word "generation", followed by the frame number.
  public var description: String { "generation \(frame)" }
}
