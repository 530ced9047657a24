/// What a process says about itself by a lock byte: that it has the store open, or a generation.
///
/// A lock does not tell whose it is, so its place does: the number of the process is a part of it.
/// Like every lock it goes with the process, and one who may only read can hold it.
package struct HolderMark: Hashable, Sendable {
  /// What is marked, as a place in the process's own stretch of bytes.
  private enum Place {
    static let openForWriting: UInt64 = 0
    static let openForReading: UInt64 = 1
    static let firstGeneration: UInt64 = 2
    static let bitCount: UInt64 = 39
    static let count: UInt64 = 1 << bitCount
  }

  /// More than any process number, and so few that all stretches lie below 2^62.
  private static let processCount: Int32 = 1 << 22
  /// The stretches of all processes.
  static let bytes = LockByte.mark..<LockByte.mark + UInt64(processCount) << Place.bitCount

  let process: Int32
  private let place: UInt64

  private init(_ process: Int32, _ place: UInt64) {
    self.process = process
    self.place = place
  }

  /// The meaning of a locked byte in ``bytes``.
  init(byte: UInt64) {
    let offset = byte - LockByte.mark
    self.init(Int32(truncatingIfNeeded: offset >> Place.bitCount), offset & (Place.count - 1))
  }

  /// The mark of a process that has the store open.
  package static func open(_ process: Int32, isReadOnly: Bool) -> HolderMark {
    HolderMark(process, isReadOnly ? Place.openForReading : Place.openForWriting)
  }

  /// The mark of a process that has held a generation for a while.
  ///
  /// Frame numbers beyond 2^39 come round again; generations that are live at the same time lie
  /// closer together.
  package static func holding(_ generation: FrameNumber, _ process: Int32) -> HolderMark {
    let count = Place.count - Place.firstGeneration
    return HolderMark(process, Place.firstGeneration + generation % count)
  }

  /// The byte to lock; `nil` for a process whose number has no place.
  package var byte: UInt64? {
    guard 0..<Self.processCount ~= process else { return nil }
    return LockByte.mark + UInt64(process) << Place.bitCount + place
  }
}

extension StoreLocks {
  /// More adjacent bytes than one process marks: a lock that is as long is none of a store.
  private static let maxMarkRunByteCount = 1 << 12

  /// Sets a mark; false if it cannot be set, which hides something from people and does no harm.
  package func set(_ mark: HolderMark) -> Bool {
    guard let byte = mark.byte, let isSet = try? tryLock(.shared, byte: byte) else { return false }
    return isSet
  }

  /// Takes a mark back.
  package func remove(_ mark: HolderMark) {
    guard let byte = mark.byte else { return }
    // What is left says for a while longer that somebody holds something.
    try? unlock(byte: byte)
  }

  /// Whether another owner has set this mark.
  package func isSetElsewhere(_ mark: HolderMark) -> Bool {
    guard let byte = mark.byte, let isSet = try? isLockedElsewhere(byte: byte) else { return false }
    return isSet
  }

  /// The marks of all other owners; none where the system does not answer.
  package func marksElsewhere() -> [HolderMark] {
    let runs = (try? lockedElsewhere(in: HolderMark.bytes)) ?? []
    return runs.filter { $0.count <= Self.maxMarkRunByteCount }
      .flatMap { $0.map(HolderMark.init(byte:)) }
  }
}
