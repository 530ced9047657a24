import HeartwoodEngine
import HeartwoodTestSupport
import Testing

@Suite("Named generations that are newer than the previous backup")
struct NamedBackupTests {
  /// Each opening of a file fails once.
  @Test(.evidence("A1"), .evidence("F5")) func `are backed up, or the backup throws`() throws {
    var failed = 0
    while try !isComplete(failing: failed) { failed += 1 }
    #expect(failed > 5)
  }

  /// Backs up a store, and expects that the backup or its repetition adds all generations.
  ///
  /// - Parameter call: The number of the demand for a descriptor that is refused.
  /// - Returns: Whether the backup needed no more descriptors than were granted.
  private func isComplete(failing call: Int) throws -> Bool {
    let fileSystem = ObservedFileSystem(MemoryFileSystem())
    let fixture = StoreFixture.on(fileSystem)
    var store: Store? = try fixture.open()
    func put(_ number: UInt8) throws -> Generation {
      try #require(store).write { try $0.keyspace("k").put(1, [number]) }
    }
    _ = try put(1)
    try store?.backup(to: "/backup")
    try store?.keep(put(2), as: "spring")
    try store?.keep(put(3), as: "summer")
    _ = try put(4)
    var count = 0
    fileSystem.onDemand = { demand, path throws(StorageError) in
      guard demand == .descriptor else { return }
      count += 1
      if count == call + 1 { throw .unchanged(.io, "no descriptor", file: path, errno: 24) }
    }
    do {
      try store?.backup(to: "/backup")
      fileSystem.onDemand = nil
    } catch {
      fileSystem.onDemand = nil
      store = nil
      store = try fixture.open()
      try store?.backup(to: "/backup")
    }
    let backup = Backup(at: "/backup", on: fileSystem)
    let points = try backup.restorePoints()
    for name in ["spring", "summer"] {
      let point = points.first { $0.names == [name] }
      #expect(point != nil, "\(name) after the refusal of descriptor \(call)")
      if let point { try backup.restore(point.generation, to: "/" + name) }
    }
    try store?.close()
    return count <= call
  }
}
