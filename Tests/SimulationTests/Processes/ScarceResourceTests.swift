import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Makes each call that needs a resource fail once, at each of its occurrences in a workload.
///
/// Meanwhile, another opening of the store and another process use the store.
///
/// When a file cannot be opened, the store closes other files and tries again, so the call to open
/// a file fails twice.
@Suite("A store short of one resource for one call", .serialized)
struct ScarceResourceTests {
  typealias Demand = ObservedFileSystem.Demand

  /// Returns the error of a call that cannot obtain a resource.
  private static func error(_ demand: Demand, _ path: String) -> StorageError {
    switch demand {
    case .descriptor: .unchanged(.io, "No descriptor is left.", file: path, errno: 24)
    case .newFile: .unchanged(.io, "No file may be created.", file: path, errno: 13)
    case .memory: .unchanged(.io, "No memory is left.", file: path, errno: 12)
    case .space: StorageError(.diskFull, "No space is left.", file: path, errno: 28)
    case .quota: StorageError(.diskFull, "The quota is used up.", file: path, errno: 122)
    case .directory: StorageError(.diskFull, "No space is left.", file: path, errno: 28)
    }
  }

  /// Counts the calls that need a resource, and rejects one of them.
  private final class Refusal {
    var count = 0
    var refused: Int?
    /// The path of the last rejected call.
    var refusedPath: String?

    func attach(to fileSystem: ObservedFileSystem, _ wanted: Demand) {
      fileSystem.onDemand = { demand, path throws(StorageError) in
        guard demand == wanted else { return }
        self.count += 1
        let isAgain = self.refusedPath == path && [.descriptor, .newFile].contains(demand)
        self.refusedPath = nil
        guard self.count == self.refused || isAgain else { return }
        if !isAgain { self.refusedPath = path }
        throw ScarceResourceTests.error(demand, path)
      }
    }
  }

  /// One run of the workload on a store with a failing call.
  ///
  /// Another opening and another process use the same store.
  private final class Run {
    /// The number of rows of the larger transactions, which exceed their memory.
    static let rowCount = TestScale.pick(quick: 80, all: 200)
    let fixture: StoreFixture
    let fileSystem: ObservedFileSystem
    let watcher: Store
    let process: ProcessCampaign
    let refusal = Refusal()
    var acknowledged: [Int: UInt8] = [:]
    var errors: [StorageError] = []

    init(_ demand: Demand, isMapped: Bool, refusing number: Int?) throws {
      var options = StoreOptions()
      options.access = isMapped ? .mapped : .buffered
      options.maintenance = .inline
      options.checkpointLogByteCount = 0
      options.segmentByteCount = 32 << 10
      options.transactionMemoryByteCount = 64 << 10
      options.cacheByteCount = 64 << 10
      process = try ProcessCampaign(seed: UInt64(number ?? 0))
      let original = StoreFixture.onDisk(at: process.directory.path(of: "store"), options)
      fileSystem = ObservedFileSystem(original.fileSystem)
      fixture = original.with(fileSystem)
      refusal.refused = number
      refusal.attach(to: fileSystem, demand)
      // If the store could not be created, a second attempt must succeed.
      do {
        try fixture.open().close()
      } catch let error as StorageError {
        errors.append(error)
        refusal.refusedPath = nil
        try fixture.open().close()
      }
      watcher = try original.elsewhere().open()
      try process.add(.watcher, 0) { $0.isMapped = isMapped }
      try process.wait(for: .opened, 1, .watcher)
    }

    /// Runs a step.
    ///
    /// - Returns: The step's result, or `nil` if it threw a `StorageError`, which is recorded.
    func attempt<R>(_ body: () throws -> R) throws -> R? {
      do { return try body() } catch let error as StorageError {
        errors.append(error)
        refusal.refusedPath = nil
        return nil
      }
    }

    func put(_ store: Store, _ rows: Range<Int>, _ byte: UInt8) throws {
      let done: Void? = try attempt {
        _ = try store.write { transaction in
          let keyspace = try transaction.keyspace("k")
          for row in rows { try keyspace.put(row, [UInt8](repeating: byte, count: 2000)) }
        }
      }
      if done == nil {
        // If the sync of a commit failed, the commit may still be complete. The next commit then
        // makes it visible.
        _ = try store.write { try $0.keyspace("n").put(0, [byte]) }
        guard try store.snapshot().keyspace("k")?.get(rows.lowerBound)?.last == byte else { return }
      }
      for row in rows { acknowledged[row] = byte }
    }

    func expectContent(_ store: Store, _ context: String) throws {
      let keyspace = try store.snapshot().keyspace("k")
      for row in 0..<220 {
        let value = try keyspace?.get(row)
        #expect(value?.last == acknowledged[row], "\(context): row \(row)")
      }
    }

    /// Runs the workload.
    ///
    /// At the same time, the other opening reads and writes, and must not be affected.
    func run(_ context: String) throws {
      var opened = try attempt { try fixture.open() }
      if opened == nil { opened = try attempt { try fixture.open() } }
      let store = try #require(opened, "\(context)")
      try put(store, 0..<20, 1)
      try put(store, 0..<Self.rowCount, 2)
      let pin = try attempt { try store.snapshot() }
      let pinned = acknowledged[0]
      try put(store, 10..<40, 3)
      _ = try attempt { try store.checkpoint() }
      _ = try attempt { try store.keep(store.snapshot().generation, as: "x") }
      try watcher.write {
        try $0.keyspace("k").put(210, [UInt8](repeating: 9, count: 2000))
      }
      acknowledged[210] = 9
      try put(store, 0..<Self.rowCount, 4)
      if let pin {
        let value = try attempt { try pin.keyspace("k")?.get(0)?.last }
        if let value { #expect(value == pinned, "\(context)") }
      }
      _ = try attempt { try store.checkpoint() }
      _ = try attempt { try store.release("x") }
      _ = try attempt { try store.compact() }
      try put(store, 200..<205, 5)
      fileSystem.onDemand = nil
      // The other process must have encountered no errors, and must have found everything that it
      // wrote.
      try process.wait(for: .acknowledged, 2, .watcher)
      try process.finish()
      // At most one call failed, and its failure affected only the step that made the call.
      #expect(errors.count <= 1, "\(context): \(errors)")
      try expectContent(watcher, context)
      try expectContent(store, context)
      try put(store, 205..<210, 6)
      try watcher.write {
        try $0.keyspace("k").put(211, [UInt8](repeating: 7, count: 2000))
      }
      acknowledged[211] = 7
      _ = try store.checkpoint()
      try expectContent(watcher, context)
      try StoreFixture.expectSound(store)
      try StoreFixture.expectSound(watcher)
      try store.close()
      try watcher.close()
      let again = try fixture.open()
      try expectContent(again, context)
      try again.close()
    }
  }

  /// The stride between the tested occurrences; a long run tests all of them.
  private static let stride = TestScale.pick(quick: 2003, all: 29, long: 1)

  @Test(
    .evidence("F1"), .evidence("F5"), .evidence("F8"), arguments: Demand.allCases,
    TestScale.some([true, false]))
  func `fails in that call only, without effect on others`(
    demand: Demand, isMapped: Bool
  ) throws {
    let complete = try Run(demand, isMapped: isMapped, refusing: nil)
    try complete.run("\(demand), undisturbed")
    #expect(complete.errors.isEmpty)
    var failed = 0
    for number in Swift.stride(from: 1, through: complete.refusal.count, by: Self.stride) {
      let run = try Run(demand, isMapped: isMapped, refusing: number)
      try run.run("\(demand) \(number), mapped \(isMapped)")
      failed += run.errors.count
    }
    print(
      "scarce \(demand), mapped \(isMapped): \(complete.refusal.count) calls, \(failed) errors")
  }
}
