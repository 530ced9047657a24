import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// Salvages stores whose files were changed at random, and expects a report or an error.
///
/// In half of the cases, the hashes are recomputed, so that the code behind the hash checks is
/// reached too. A trap or an endless loop would end or stop the test process.
@Suite("Salvage of a store with changed files")
struct SalvageMutationTests {
  /// The entries of the newest generation of each sample, by their encoded keyspace and key.
  private static let contents: [[SalvageEntry: [UInt8]]] = SampleStore.all.map { sample in
    do { return try Self.entries(of: SampleStore.path, on: sample.disk.killed(), sample) } catch {
      preconditionFailure("the sample store cannot be read: \(error)")
    }
  }
  private static let generations: [FrameNumber] = SampleStore.all.map { sample in
    do {
      let disk = sample.disk.killed()
      return try StoreSalvage(of: SampleStore.path, to: "/new", on: disk).run().generation.frame
    } catch {
      preconditionFailure("the sample store cannot be salvaged: \(error)")
    }
  }

  private static func entries(
    of path: String, on disk: SimulatedDisk, _ sample: SampleStore
  ) throws -> [SalvageEntry: [UInt8]] {
    let store = try Store(at: path, options: sample.options, fileSystem: disk)
    if path != SampleStore.path { #expect(try store.verify().findings == []) }
    let entries = try SalvageSample.entries(of: store)
    try store.close()
    return entries
  }

  /// Damages a sample, salvages it, and returns whether an error was thrown.
  private func salvage(_ damage: StoreDamage, _ context: String) throws -> Bool {
    let sample = damage.store
    let index = Int(damage.sample) % SampleStore.all.count
    var image = sample.image
    for edit in damage.edits { image.apply(edit) }
    if damage.repairs { image.repairHashes() }
    let disk = sample.disk.crashed(.everything)
    disk.fileByteCountLimit = 64 << 20
    try image.install(on: disk, at: SampleStore.path)
    let report: SalvageReport
    do {
      report = try StoreSalvage(of: SampleStore.path, to: "/new", on: disk).run()
    } catch let error as StorageError {
      #expect(try disk.list("/new") == nil, "\(context): \(damage)")
      #expect(error.kind == .notAStore || error.kind == .incompatibleFormat, "\(error): \(damage)")
      return true
    }
    let found = try Self.entries(of: "/new", on: disk, sample)
    guard !damage.repairs, report.generation.frame == Self.generations[index] else { return false }
    let expected = Self.contents[index]
    if report.isComplete { #expect(found == expected, "\(context): \(damage)") }
    let doubtfulCount = report.keyspaces.reduce(0) { $0 + $1.doubtfulCount }
    let lost = Set(report.keyspaces.filter(\.hasLostName).map(\.name))
    let foreign = found.filter { !lost.contains($0.key.keyspace) && expected[$0.key] != $0.value }
    #expect(foreign.count <= doubtfulCount, "\(context): \(damage)")
    return false
  }

  @Test(arguments: 0..<TestScale.pick(quick: 5, all: 5, long: 10))
  func `gives a report or an error`(group: Int) throws {
    let count = TestScale.pick(quick: 20, all: 40, long: 600)
    var refused = 0
    for number in 0..<count {
      let seed = UInt64(group * 100_000 + number)
      var mutator = Mutator(seed: seed)
      let damage = mutator.damage(
        sample: group % SampleStore.all.count, repairs: seed % 2 == 1, isSameBoot: false)
      if try salvage(damage, "seed \(seed)") { refused += 1 }
    }
    print("salvaged mutants: \(count), of which \(refused) caused an error (group \(group))")
  }

  @Test(arguments: Mutator.Aim.allCases)
  func `gives a report or an error for aimed changes`(aim: Mutator.Aim) throws {
    for number in 0..<TestScale.pick(quick: 5, all: 20, long: 500) {
      var mutator = Mutator(seed: UInt64(number))
      let damage = mutator.aimedDamage(
        aim, sample: number % SampleStore.all.count, isSameBoot: false)
      guard !damage.edits.isEmpty else { continue }
      _ = try salvage(damage, "\(aim), seed \(number)")
    }
  }

  @Test(arguments: SampleStore.all.indices)
  func `copies an unchanged store`(sample: Int) throws {
    let damage = StoreDamage(sample: sample, repairs: false, edits: [])
    #expect(try !salvage(damage, "sample \(sample)"))
    let disk = damage.store.disk.killed()
    let report = try StoreSalvage(of: SampleStore.path, to: "/new", on: disk).run()
    #expect(report.isComplete)
    #expect(report.notes == [])
  }
}
