/// The memory shared by all sorters of a file.
///
/// If the sorters together exceed the limit, the largest sorter writes its records to its temporary
/// file.
final class SortMemory {
  private let limit: Int
  private var used = 0
  private var sorters: [RecordSorter] = []

  /// Creates the memory for the sorters of a file.
  ///
  /// - Parameter limit: The maximum total length, in bytes, of the records waiting to be sorted.
  ///   The process needs up to about twice as much, because arrays grow in steps.
  init(limit: Int) { self.limit = limit }

  func add(_ sorter: RecordSorter) { sorters.append(sorter) }

  func remove(_ sorter: RecordSorter) {
    used -= sorter.byteCount
    sorters.removeAll { $0 === sorter }
  }

  /// Increases the memory in use by `byteCount`, and spills the largest sorter if the limit is
  /// exceeded.
  @inline(__always)
  func take(_ byteCount: Int) throws(SQLiteWriterError) {
    used += byteCount
    if used > limit { try spillLargest() }
  }

  private func spillLargest() throws(SQLiteWriterError) {
    guard let largest = sorters.max(by: { $0.byteCount < $1.byteCount }) else { return }
    used -= largest.byteCount
    try largest.spill()
  }
}
