import Synchronization

/// A record of the process that created a value, used to detect values inherited through `fork`.
///
/// A child must not use inherited values that refer to files or locks. The files belong to its
/// parent, and threads that held the locks do not exist in the child.
package struct ProcessOrigin: Sendable {
  // The number of forks between the first process and this one. The fork handler in
  // `OpenDescriptors` increments the number in each child.
  private static let forkCount = Atomic<UInt64>(0)

  private let forkCount: UInt64

  @inline(__always)
  package init() { forkCount = Self.forkCount.load(ordering: .relaxed) }

  /// A Boolean value that indicates whether this process inherited the value from an ancestor
  /// through `fork`.
  package var isInherited: Bool {
    @inline(__always) get { forkCount != Self.forkCount.load(ordering: .relaxed) }
  }

  /// Throws `forked` if an ancestor of this process created the value.
  package func requireOwn(_ file: String) throws(StorageError) {
    guard isInherited else { return }
    throw StorageError(
      .forked,
      "This process inherited the open store from its parent through `fork` and cannot use it. "
        + "Open the store again in this process.", file: file)
  }

  /// Marks all existing values as inherited.
  ///
  /// This method is called only in the child of a fork.
  static func leaveParent() { forkCount.wrappingAdd(1, ordering: .relaxed) }
}
