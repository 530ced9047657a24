import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// An object with a name and a value.
///
/// Each conforming class is assigned to its own store.
private protocol Item: ManagedObject {
  var name: Int { get set }
  var value: Int { get set }
}

private final class FirstItem: ManagedObject, Item {
  @Attribute var name: Int = 0
  @Attribute var value: Int = 0
}

private final class SecondItem: ManagedObject, Item {
  @Attribute var name: Int = 0
  @Attribute var value: Int = 0
}

private final class ThirdItem: ManagedObject, Item {
  @Attribute var name: Int = 0
  @Attribute var value: Int = 0
}

private let classes: [any Item.Type] = [FirstItem.self, SecondItem.self, ThirdItem.self]

/// Performs random work in contexts on three stores, and tracks the expected results.
struct StoreRun {
  /// The content of one generation of a store, as values keyed by name.
  private typealias Rows = [Int: Int]

  /// A context, and the expected content of each store in the generation to which it is pinned.
  ///
  /// `pin` is `nil` if the context is not pinned.
  private struct ContextState {
    let context: ManagedObjectContext
    var pin: [Int: Rows]?
  }

  private let scratch: ScratchDirectory
  private let container: PersistentContainer
  private var random: SeededGenerator
  private var contextStates: [ContextState] = []
  private var committed: [Int: Rows] = [0: [:], 1: [:], 2: [:]]
  private var present: Set<Int> = [0]
  /// The tokens of named generations, each with the expected content.
  private var kept: [(token: QueryGenerationToken, rows: [Int: Rows])] = []
  private var lastName = 0
  /// The number of commits to each store that the run has not yet read from the history.
  private var unread: [Int: Int] = [:]
  private var history: PersistentHistoryToken?

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    scratch = try ScratchDirectory()
    var options = ContainerOptions()
    options.store.durability = .normal
    container = try PersistentContainer(
      url: URL(filePath: scratch.path(of: "0")), schema: Schema(FirstItem.self), options: options)
    for _ in 0..<4 {
      let context = container.newContext()
      context.mergePolicy = .overwrite
      contextStates.append(ContextState(context: context))
    }
  }

  /// Performs the given number of steps, and checks a context after each step.
  mutating func run(steps: Int) throws {
    for _ in 0..<steps {
      let index = random.below(contextStates.count)
      switch random.below(12) {
      case 0, 1, 2, 3: try save(in: index)
      case 4: try saveToTwo(in: index)
      case 5: try pin(index)
      case 6: try goBack(index)
      case 7:
        try contextStates[index].context.setQueryGenerationFrom(nil)
        contextStates[index].pin = nil
      case 8: try keep(index)
      case 9: try addOrRemove()
      case 10: try readHistory()
      default: contextStates[index].context.refreshAllObjects()
      }
      try check(random.below(contextStates.count))
    }
    for index in contextStates.indices { try check(index) }
    try readHistory()
    for store in container.stores { #expect(try store.verify().findings == []) }
  }

  // MARK: Steps

  /// Changes an object of one store, and saves the change.
  private mutating func save(in index: Int) throws {
    guard let store = present.sorted().randomElement(using: &random) else { return }
    let context = contextStates[index].context
    func change<T: Item>(_ type: T.Type) throws {
      let all = try context.fetch(FetchRequest<T>())
      let value = random.below(1000)
      guard let thing = all.randomElement(using: &random), random.isTrue(in256: 160) else {
        lastName += 1
        let thing = T()
        context.insert(thing)
        (thing.name, thing.value) = (lastName, value)
        committed[store]?[lastName] = value
        return
      }
      if random.isTrue(in256: 64) {
        committed[store]?[thing.name] = nil
        context.delete(thing)
      } else {
        // Setting an equal value is not an edit, so nothing is committed.
        if thing.value != value { committed[store]?[thing.name] = value }
        thing.value = value
      }
    }
    let before = try container.store(of: classes[store])?.snapshot().generation
    try change(classes[store])
    let hadChanges = context.hasChanges
    try context.save()
    let after = try container.store(of: classes[store])?.snapshot().generation
    if hadChanges, before != after { unread[store, default: 0] += 1 }
    if contextStates[index].pin != nil {
      contextStates[index].pin = current
      // After a save without changes, the next read determines the generation.
      _ = try rows(of: classes[store], in: context)
    }
  }

  private var current: [Int: Rows] { committed.filter { present.contains($0.key) } }

  /// Changes objects of two stores, expects the save to fail, and rolls back.
  private mutating func saveToTwo(in index: Int) throws {
    guard present.count > 1 else { return }
    let context = contextStates[index].context
    for store in present.sorted().shuffled(using: &random).prefix(2) {
      context.insert(classes[store].init())
    }
    let token = context.queryGenerationToken
    expect(.multipleStores) { try context.save() }
    #expect(context.insertedObjects.count == 2 && context.queryGenerationToken == token)
    context.rollback()
    #expect(!context.hasChanges)
  }

  private mutating func pin(_ index: Int) throws {
    // A context can be pinned only if the container has a store.
    guard let store = present.min() else { return }
    try contextStates[index].context.setQueryGenerationFrom(.current)
    contextStates[index].pin = current
    _ = try rows(of: classes[store], in: contextStates[index].context)
  }

  /// Pins a context to a named generation, except for stores that have been removed.
  private mutating func goBack(_ index: Int) throws {
    guard let (token, rows) = kept.randomElement(using: &random) else { return }
    let left = rows.filter { present.contains($0.key) }
    guard !left.isEmpty else {
      return expect(.removedStore) {
        try contextStates[index].context.setQueryGenerationFrom(token)
      }
    }
    try contextStates[index].context.setQueryGenerationFrom(token)
    contextStates[index].pin = left
  }

  private mutating func keep(_ index: Int) throws {
    guard let pin = contextStates[index].pin, !present.isEmpty,
      let token = contextStates[index].context.queryGenerationToken, token != .current
    else { return }
    let left = pin.filter { present.contains($0.key) }
    guard !left.isEmpty else { return }
    try container.keepGeneration(token, as: "\(kept.count)")
    kept.append((token, left))
  }

  private mutating func addOrRemove() throws {
    let store = random.below(3)
    let url = URL(filePath: scratch.path(of: "\(store)"))
    if present.contains(store) {
      try container.removeStore(url: url)
      present.remove(store)
      // Even if the store is added again, contexts that are already pinned do not see its content.
      for index in contextStates.indices { contextStates[index].pin?[store] = nil }
    } else {
      try container.addStore(url: url, entities: [classes[store]])
      present.insert(store)
    }
  }

  /// Reads the new history transactions of the stores that are present.
  private mutating func readHistory() throws {
    let known = history
    do {
      let news = try container.fetchHistory(after: known)
      #expect(news.count == present.reduce(0) { $0 + (unread[$1] ?? 0) })
      for store in present { unread[store] = 0 }
      history = news.last?.token ?? known
    } catch let error as StorageError where error.kind == .foreignStore {
      // None of the stores that the token covers is present.
      history = known
    }
  }

  // MARK: Checks

  private func rows<T: Item>(of type: T.Type, in context: ManagedObjectContext) throws -> Rows {
    let things = try context.fetch(FetchRequest<T>())
    #expect(try context.count(for: FetchRequest<T>()) == things.count)
    return Dictionary(uniqueKeysWithValues: things.map { ($0.name, $0.value) })
  }

  /// Compares a context with the expected content.
  private func check(_ index: Int) throws {
    let context = contextStates[index].context
    for store in 0..<3 {
      guard present.contains(store) else {
        let error = #expect(throws: ObjectGraphError.self) {
          try rows(of: classes[store], in: context)
        }
        #expect(error?.kind == .removedStore || error?.kind == .unknownEntity)
        continue
      }
      let wanted = contextStates[index].pin.map { $0[store] ?? [:] } ?? committed[store]
      #expect(
        try rows(of: classes[store], in: context) == wanted,
        "store \(store), \(String(describing: contextStates[index].pin)), \(wanted ?? [:])")
    }
    #expect((context.queryGenerationToken == nil) == (contextStates[index].pin == nil))
    #expect(!context.hasChanges)
  }
}

extension PersistentContainer {
  /// Returns the store to which a class is assigned, or `nil` if that store is not present.
  fileprivate func store(of type: ManagedObject.Type) throws -> Store? {
    let name = type.entity.name
    return try stores.first { store in
      try store.snapshot().keyspace("heartwood.model")?.get("model")
        .map { String(decoding: $0, as: UTF8.self).contains("\"\(name)\"") } ?? false
    }
  }
}

@Suite("Contexts of several stores")
struct StoreModelTests {
  @Test(
    .evidence("ST-01"), .evidence("ST-02"), .evidence("ST-05"), .evidence("ST-08"),
    .evidence("QG-41"), .evidence("QG-42"), .evidence("QG-43"), .evidence("QG-44"),
    arguments: TestScale.seeds(quick: 2, all: 8))
  func `random work in several stores equals a plain reference`(seed: UInt64) throws {
    var run = try StoreRun(seed: seed)
    try run.run(steps: 120)
  }
}
