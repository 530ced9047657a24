import Synchronization

/// The process in which a value was created.
///
/// After `fork`, the child has a copy of all values of its parent, and must not use any of them:
/// the files belong to the parent, and the threads that held its locks do not exist in the child. A
/// check costs one load and one comparison.
package struct ProcessOrigin: Sendable {
  // The number of forks between the first process and this one. It grows in children only, by the
  // handler that `OpenDescriptors` registers.
  private static let forkCount = Atomic<UInt64>(0)

  private let forkCount: UInt64

  /// Records the calling process.
  @inline(__always)
  package init() { forkCount = Self.forkCount.load(ordering: .relaxed) }

  /// Whether this process is a descendant, by `fork`, of the one that created the value.
  package var isInherited: Bool {
    @inline(__always) get { forkCount != Self.forkCount.load(ordering: .relaxed) }
  }

  /// - Throws: `forked` in a descendant of the process that created the value.
  package func requireOwn(_ file: String) throws(StorageError) {
    guard isInherited else { return }
    throw StorageError(
      .forked,
      "The store was opened before `fork` and belongs to the parent of this process. Open it again "
        + "in this process.", file: file)
  }

  /// Marks all existing values as inherited; called in the child of a fork only.
  static func leaveParent() { forkCount.wrappingAdd(1, ordering: .relaxed) }
}
