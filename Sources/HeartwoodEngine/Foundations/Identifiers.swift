/// The position of a page in the page file, counted from 0.
///
/// A page keeps its number, although each new version of it is written to another frame.
package typealias PageNumber = UInt32

/// The position of a page image or a group header in the log, counted from 1 and never reused.
package typealias FrameNumber = UInt64

/// The number of a tree within its store.
///
/// Tree 0 is the catalog, and each keyspace has its own tree.
package typealias TreeID = UInt32

/// One committed state of a store, identified by the number of the last log frame of its commit.
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

  /// Orders generations by the time of their commit.
  public static func < (earlier: Generation, later: Generation) -> Bool {
    earlier.frame < later.frame
  }
}

extension Generation: CustomStringConvertible {
  /// The word "generation", followed by the frame number.
  public var description: String { "generation \(frame)" }
}
