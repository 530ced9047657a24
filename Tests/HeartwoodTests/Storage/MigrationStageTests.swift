import Foundation
import Heartwood
import HeartwoodTestSupport
import Synchronization
import Testing

/// Collects the progress that a migration reports.
private final class Reports: Sendable {
  private let reports = Mutex<[MigrationProgress]>([])
  var all: [MigrationProgress] { reports.withLock { $0 } }
  func record(_ report: MigrationProgress) { reports.withLock { $0.append(report) } }
}

private struct Interruption: Error {}

@Suite("Migration stages")
struct MigrationStageTests {
  typealias V1 = Contacts.V1
  typealias V2 = Contacts.V2
  typealias V3 = Contacts.V3

  @Test(.evidence("E-13"))
  func `stages change objects before and after the migration`() throws {
    let store = EvolvingStore()
    let rows = try Contacts.fill(store, count: 30)
    // Without the stages, the migration is rejected.
    #expect("\(try store.refusal(V3.schema))".contains("Contact.phone"))
    for _ in 0..<2 {
      try store.open(V3.schema, Contacts.stages) { context in
        let found = try Contacts.rows(context)
        #expect(found == rows)
        try context.expect("phone == '+22'", \V3.Contact.name, ["F2 L2"])
        try context.expect("name BEGINSWITH 'F1 '", \V3.Contact.stars, [3])
      }
    }
    // A new store may also be opened with stages.
    try EvolvingStore().open(V3.schema, Contacts.stages) { context in
      V3.Contact(context: context).name = "first"
    }
  }

  @Test(.evidence("E-13"))
  func `stages start at the version of the store`() throws {
    let store = EvolvingStore()
    _ = try Contacts.fill(store, count: 3)
    try store.open(V2.schema) { context in
      for contact in try context.all(V2.Contact.self) {
        if contact.first.isEmpty { context.delete(contact) }
        contact.name = "by hand \(contact.phone)"
        contact.phoneText = contact.name
      }
    }
    try store.open(V3.schema, Contacts.stages) { context in
      try context.expect("stars == 3 AND name ENDSWITH '2'", \V3.Contact.phone, ["by hand 22"])
    }
  }

  @Test(.evidence("E-14"))
  func `a stage that throws leaves the store unchanged`() throws {
    let store = EvolvingStore()
    let rows = try Contacts.fill(store, count: 5)
    let last = MigrationStage.custom(
      from: V2.schema, to: V3.schema,
      didMigrate: { context in
        let count = try context.count(for: FetchRequest<V3.Contact>())
        for number in 0..<3 { V3.Contact(context: context).phone = "new \(number)" }
        try context.save()
        #expect(try context.count(for: FetchRequest<V3.Contact>()) == count + 3)
        throw Interruption()
      })
    #expect(throws: Interruption.self) {
      try store.open(V3.schema, [Contacts.stages[0], last]) { _ in }
    }
    try store.open(V1.schema) { context in
      #expect(try context.all(V1.Contact.self).count == 6)
      try context.expect("first == 'F3'", \V1.Contact.phone, [33])
    }
    try store.open(V3.schema, Contacts.stages) { context in
      let found = try Contacts.rows(context)
      #expect(found == rows)
    }
  }

  @Test(.evidence("E-13"), .evidence("E-14"))
  func `stages may save several times within one transaction`() throws {
    let store = EvolvingStore()
    _ = try Contacts.fill(store, count: 4)
    let stage = MigrationStage.custom(
      from: V2.schema, to: V3.schema,
      didMigrate: { context in
        let all = try context.fetch(FetchRequest<V3.Contact>()).sorted { $0.name < $1.name }
        all[1].phone = all[0].phone
        #expect(throws: ObjectGraphError.self) { try context.save() }
        context.rollback()
        try context.execute(
          BatchUpdateRequest<V3.Contact>(where: #Predicate { $0.stars == 3 }) { row in
            row[\.stars] = 4
          })
        #expect(throws: Interruption.self) {
          try context.execute(
            BatchUpdateRequest<V3.Contact> { row in
              row[\.stars] = try context.count(for: FetchRequest<V3.Circle>())
              throw Interruption()
            })
        }
        // The temporary data of earlier stages has already been removed.
        #expect(try context.count(for: FetchRequest<V3.Circle>()) == 0)
        #expect(throws: ObjectGraphError.self) { try context.setQueryGenerationFrom(.current) }
        let child = ManagedObjectContext(parent: context)
        let new = V3.Contact(context: child)
        new.phone = "child"
        try child.save()
        try context.obtainPermanentIDs(for: Array(context.insertedObjects))
        try context.save()
        context.delete(all[2])
      })
    try store.withContainer(V3.schema, [Contacts.stages[0], stage]) { container in
      let context = container.newContext()
      try context.expect("stars == 4", \V3.Contact.phone, ["+0", "+11", "+33"])
      try context.expect("stars == 3", \V3.Contact.phone, ["child"])
      // The history contains the changes saved by the stages.
      let changes = try container.fetchHistory(after: nil as PersistentHistoryToken?)
        .flatMap(\.changes)
      #expect(changes.count { if case .insert = $0.kind { true } else { false } } == 6)
      #expect(changes.count { if case .delete = $0.kind { true } else { false } } == 2)
      withExtendedLifetime(context) {}
    }
  }

  @Test(.evidence("E-13"))
  func `stages in the wrong order are rejected`() throws {
    let store = EvolvingStore()
    let cases: [[MigrationStage]] = [
      Contacts.stages.reversed(), [.lightweight(to: Schema(version: 4, V3.Contact.self))],
      [.custom(from: V2.schema, to: V2.schema)],
      [Contacts.stages[0], .custom(from: V1.schema, to: V3.schema)],
    ]
    for stages in cases { #expect(try store.refusal(V3.schema, stages).kind == .invalidModel) }
  }

  @Test(.evidence("E-15"))
  func `stages and other work report progress`() throws {
    let store = EvolvingStore()
    let count = 2500
    _ = try Contacts.fill(store, count: count)
    let reports = Reports()
    try store.open(V3.schema, Contacts.stages, progress: { reports.record($0) }) { _ in }
    let relationships = reports.all.filter { $0.work == .relationships }
    #expect(relationships.map(\.version).allSatisfy { $0 == 2 })
    #expect(relationships.map(\.completedCount).max() == count - 1)
    let indexes = reports.all.filter { $0.work == .indexes && $0.version == 3 }
    #expect(indexes.map(\.completedCount) == [1000, 2000, 2500, 1000, 2000, 2500])
    #expect(indexes.allSatisfy { $0.totalCount == count && $0.entityName == "Contact" })
  }

  @Test(.evidence("E-14"), .evidence("E-16"))
  func `stages run once if two processes open the store at the same time`() async throws {
    let store = EvolvingStore()
    let rows = try Contacts.fill(store, count: 50)
    let runs = Atomic(0)
    let last = MigrationStage.custom(
      from: V2.schema, to: V3.schema,
      didMigrate: { _ in _ = runs.add(1, ordering: .relaxed) })
    let disk = store.disk
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<3 {
        group.addTask {
          let other = EvolvingStore(disk)
          try other.open(V3.schema, [Contacts.stages[0], last]) { context in
            let found = try Contacts.rows(context)
            #expect(found == rows)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(runs.load(ordering: .relaxed) == 1)
  }
}
