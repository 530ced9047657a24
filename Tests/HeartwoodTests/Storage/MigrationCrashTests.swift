import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("An interrupted migration")
struct MigrationCrashTests {
  /// Migrates repeatedly, with a power cut at every `step`-th file-system call in turn.
  ///
  /// After each power cut, the store must have either all old or all new values.
  private func cutEverywhere(count: Int, step: Int, seed: UInt64) throws {
    let store = EvolvingStore(SimulatedDisk(seed: seed))
    let rows = try Contacts.fill(store, count: count)
    let whole = store.disk.crashed(.everything)
    try EvolvingStore(whole).open(Contacts.V3.schema, Contacts.stages) { _ in }
    var (old, new) = (0, 0)
    var call = 1
    while call <= whole.callCount {
      let disk = store.disk.crashed(.everything)
      disk.faultPlan = .powerCut(atCall: call, leavesPart: call % 2 == 0)
      do {
        try EvolvingStore(disk).open(Contacts.V3.schema, Contacts.stages) { _ in }
      } catch is StorageError {}
      let modes = CrashMode.allCases
      for choice in [
        CrashChoice.nothing, .everything,
        .seeded(seed &+ UInt64(call), modes[call % modes.count]),
      ] {
        let left = disk.crashed(choice)
        let survivor = EvolvingStore(left.crashed(.everything))
        do {
          try survivor.open(Contacts.V1.schema) { context in
            let count = try context.count(for: FetchRequest<Contacts.V1.Contact>())
            #expect(count == rows.count + 1, "seed \(seed), call \(call)")
          }
          old += 1
        } catch let error as ObjectGraphError {
          #expect(error.message.contains("newer version"), "seed \(seed), call \(call): \(error)")
          new += 1
        }
        try EvolvingStore(left).open(Contacts.V3.schema, Contacts.stages) { context in
          let found = try Contacts.rows(context)
          #expect(found == rows, "seed \(seed), call \(call)")
          try context.expect("phone == '+11'", \Contacts.V3.Contact.name, ["F1 L1"])
        }
      }
      call += step
    }
    print("crash states: \(old) as before, \(new) as after (seed \(seed))")
    #expect(old > 0 && new > 0)
  }

  @Test(.evidence("E-14"), arguments: TestScale.some([1, 2] as [UInt64]))
  func `an interrupted migration is applied completely or not at all`(seed: UInt64) throws {
    try cutEverywhere(count: 4, step: 1, seed: seed)
  }

  @Test(.evidence("E-14"))
  func `an interrupted migration larger than memory leaves nothing behind`() throws {
    try cutEverywhere(count: 400, step: TestScale.pick(quick: 39, all: 13), seed: 3)
  }

  /// Migrates each kind of change with a power cut at each file-system call, and compares all
  /// values.
  @Test(.evidence("E-14"), arguments: MigrationKind.all)
  func `an interrupted migration leaves either the old or the new values`(kind: MigrationKind)
    throws
  {
    let store = EvolvingStore(SimulatedDisk(seed: 7))
    try store.open(kind.old) { try kind.fill($0) }
    let whole = store.disk.crashed(.everything)
    let values = try EvolvingStore(whole).open(kind.new) { try kind.newValues($0) }
    #expect(values == kind.newReference)
    var (old, new) = (0, 0)
    let step = TestScale.pick(quick: 7, all: 1)
    for call in stride(from: 1, through: whole.callCount, by: step) {
      let disk = store.disk.crashed(.everything)
      disk.faultPlan = .powerCut(atCall: call, leavesPart: call % 2 == 0)
      do { try EvolvingStore(disk).open(kind.new) { _ in } } catch is StorageError {}
      let modes = CrashMode.allCases
      for choice in [
        CrashChoice.nothing, .everything, .seeded(UInt64(call), modes[call % modes.count]),
      ] {
        let left = disk.crashed(choice)
        let isOld = try isOld(kind, EvolvingStore(left.crashed(.everything)), "call \(call)")
        (old, new) = isOld ? (old + 1, new) : (old, new + 1)
        try EvolvingStore(left).open(kind.new) { context in
          let values = try kind.newValues(context)
          #expect(values == kind.newReference, "call \(call), \(choice)")
        }
      }
    }
    print("crash states: \(old) as before, \(new) as after (\(kind.testDescription))")
    #expect(old > 0 && new > 0)
  }

  /// Returns whether a store opens with the old model, and if so, expects it to have the old
  /// values.
  private func isOld(_ kind: MigrationKind, _ store: EvolvingStore, _ label: String) throws -> Bool
  {
    do {
      try store.open(kind.old) { context in
        let values = try kind.oldValues(context)
        #expect(values == kind.oldReference, "\(label)")
      }
      return true
    } catch let error as ObjectGraphError {
      #expect(error.message.contains("newer version"), "\(label): \(error)")
      return false
    }
  }
}
