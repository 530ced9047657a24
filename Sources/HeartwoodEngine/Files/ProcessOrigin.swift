import Synchronization

/// A record of the process that created a value, used to detect that the value was inherited
/// through `fork`.
///
/// After `fork`, the child has copies of all its parent's values. It must not use those that refer
/// to files or locks: the files belong to the parent, and threads that held the parent's locks do
/// not exist in the child. The check costs one load and one comparison.
package struct ProcessOrigin: Sendable {
  // The number of forks between the first process and this one. The handler that `OpenDescriptors`
  // registers increments it in each child.
  private static let forkCount = Atomic<UInt64>(0)

  private let forkCount: UInt64

  /// Creates a value that records the calling process.
  @inline(__always)
  package init() { forkCount = Self.forkCount.load(ordering: .relaxed) }

  /// Whether the value was created by an ancestor of this process, and copied by `fork`.
  package var isInherited: Bool {
    @inline(__always) get { forkCount != Self.forkCount.load(ordering: .relaxed) }
  }

  /// Checks that this process created the value.
  ///
  /// - Throws: `forked` if an ancestor of this process created it.
  package func requireOwn(_ file: String) throws(StorageError) {
    guard isInherited else { return }
    throw StorageError(
      .forked,
      "This process inherited the open store from its parent through `fork`, and cannot use it. "
        + "Open the store again in this process.", file: file)
  }

  /// Marks all existing values as inherited.
  ///
  /// Called only in the child of a fork.
  static func leaveParent() { forkCount.wrappingAdd(1, ordering: .relaxed) }
}
