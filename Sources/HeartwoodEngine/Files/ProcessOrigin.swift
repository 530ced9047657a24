import Synchronization

/// The process a value was made in.
///
/// After `fork`, the child has a copy of all that its parent made, and must not use any of it: its
/// files are the parent's, and the threads that held its locks are gone. Asking costs one load and
/// one comparison.
package struct ProcessOrigin: Sendable {
  // Forks between the first process and this one. Grows in children only, by the handler that
  // `OpenDescriptors` registers.
  private static let forkCount = Atomic<UInt64>(0)

  private let forkCount: UInt64

  /// The process that calls this.
  @inline(__always)
  package init() { forkCount = Self.forkCount.load(ordering: .relaxed) }

  /// Whether this process is a child, by `fork`, of the one the value was made in.
  package var isInherited: Bool {
    @inline(__always) get { forkCount != Self.forkCount.load(ordering: .relaxed) }
  }

  /// - Throws: `forked` in a child of the process the value was made in.
  package func requireOwn(_ file: String) throws(StorageError) {
    guard isInherited else { return }
    throw StorageError(
      .forked,
      "The store was opened before this process was forked off, and belongs to its parent. Open it "
        + "anew in this process.", file: file)
  }

  /// Makes everything there is inherited; in the child of a fork only.
  static func leaveParent() { forkCount.wrappingAdd(1, ordering: .relaxed) }
}
