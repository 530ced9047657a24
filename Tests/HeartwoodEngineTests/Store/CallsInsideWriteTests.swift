import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Tests every public call that a program may attempt inside `write`.
///
/// During each call, a checkpoint waits for the write to end. The call must return or trap at once,
/// and must never deadlock.
@Suite("A call inside a write", .serialized)
struct CallsInsideWriteTests {
  private static let allowed = CallInsideWrite.allCases.filter { !$0.isRefused }
  private static let refused = CallInsideWrite.allCases.filter(\.isRefused)

  private static func options() -> StoreOptions {
    var options = StoreOptions()
    options.checkpointLogByteCount = 0
    return options
  }

  @Test(
    .mustEnd, .evidence("U1"), .evidence("U5"),
    arguments: TestScale.some(allowed, every: 3),
    TestScale.some([false, true]))
  func `that is allowed returns, even if a checkpoint runs on another thread`(
    call: CallInsideWrite, isElsewhere: Bool
  ) throws {
    let directory = try ScratchDirectory()
    let options = Self.options()
    var scene = try CallInsideWrite.Scene(in: directory.path, options: options)
    let store = scene.store
    let path = directory.path(of: "store")
    let other = try Store(at: path, options: options, fileSystem: OtherProcess(PosixFileSystem()))
    var thread: SystemThread?
    try store.write { transaction in
      try transaction.keyspace("k").put(2, [2])
      thread = SystemThread { _ = try? (isElsewhere ? other : store).checkpoint() }
      // Give the checkpoint time to acquire its lock and to wait for this write.
      SystemThread.sleep(milliseconds: 50)
      #expect(try call.isMade(in: &scene))
      try transaction.keyspace("k").put(3, [3])
    }
    thread?.join()
    #expect(try store.snapshot().keyspace("k")?.count() == 3)
    try StoreFixture.expectSound(store)
    try other.close()
    withExtendedLifetime(scene) {}
  }

  @Test(.spawning, .evidence("U1"), .evidence("U5"), arguments: refused)
  func `that would wait for itself traps`(call: CallInsideWrite) async {
    await #expect(processExitsWith: .failure) { [call = call as CallInsideWrite] in
      let directory = try ScratchDirectory()
      var scene = try CallInsideWrite.Scene(in: directory.path, options: Self.options())
      try scene.store.write { _ in _ = try call.isMade(in: &scene) }
    }
  }

  @Test(.evidence("U5")) func `names a generation even if the write fails`() throws {
    let fixture = try StoreFixture.onDisk()
    let store = try fixture.open()
    try store.write { try $0.keyspace("k").put(1, [1]) }
    struct Undone: Error {}
    #expect(throws: Undone.self) {
      try store.write { transaction in
        try transaction.keyspace("k").put(1, [2])
        try store.keep(store.snapshot().generation, as: "inside")
        throw Undone()
      }
    }
    #expect(try store.namedGenerations()["inside"] == store.snapshot().generation)
    try store.close()
  }
}
