import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Counter: ManagedObject {
  @Attribute var value: Int = 0
}

/// An actor that owns a context, as a program would define it.
private actor Counters {
  private let executor = ContextExecutor()
  private let context: ManagedObjectContext
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  init(_ container: PersistentContainer) { context = container.newContext() }

  func add(_ value: Int) async throws -> ManagedObjectID {
    let counter = Counter(context: context)
    await Task.yield()
    counter.value = value
    try context.save()
    return counter.objectID
  }

  /// Blocks the thread until the semaphore is signalled, and returns whether it was.
  func block(until semaphore: DispatchSemaphore) -> Bool {
    semaphore.wait(timeout: .now() + 20) == .success
  }
}

@Suite("Background contexts")
struct BackgroundContextTests {
  private let container: PersistentContainer

  init() throws {
    container = try PersistentContainer.inMemory(schema: Schema(Counter.self))
  }

  @Test(.evidence("T-02")) func `a call does not run while an earlier one waits`() async throws {
    let background = container.newBackgroundContext()
    try await background.perform { context in
      _ = Counter(context: context)
      try context.save()
    }
    await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<40 {
        group.addTask {
          try await background.perform { context in
            let counter = try #require(try context.fetch(FetchRequest<Counter>()).first)
            let before = counter.value
            for _ in 0..<3 { await Task.yield() }
            // The next call must run even if this call throws.
            if number.isMultiple(of: 4) { throw CancellationError() }
            counter.value = before + 1
            try context.save()
          }
        }
      }
      while let result = await group.nextResult() {
        if case .failure(let error) = result { #expect(error is CancellationError) }
      }
    }
    let value = try await container.performBackgroundTask { context in
      await Task.yield()
      return try context.fetch(FetchRequest<Counter>()).first?.value
    }
    #expect(value == 30)
  }

  @Test(.evidence("T-02"), .mustEnd)
  func `a call within a call runs at once`() async throws {
    let background = container.newBackgroundContext()
    let other = container.newBackgroundContext()
    try await background.perform { context in
      let counter = Counter(context: context)
      let value = try await background.perform { context in
        try context.fetch(FetchRequest<Counter>()).count
      }
      counter.value = value
      try context.save()
      let found = try await other.perform { try $0.fetch(FetchRequest<Counter>()).map(\.value) }
      #expect(found == [1])
    }
  }

  /// Adds 1 to the value of the counter, in a call that waits between reading and writing.
  private func increment(_ background: BackgroundContext) async throws {
    try await background.perform { context in
      let counter = try #require(try context.fetch(FetchRequest<Counter>()).first)
      let before = counter.value
      try await Task.sleep(for: .milliseconds(2))
      counter.value = before + 1
      try context.save()
    }
  }

  /// Makes random trees of calls to two contexts.
  ///
  /// A call is awaited at once, in a group, or by a task that outlives the enclosing call.
  private func call(
    _ background: BackgroundContext, _ other: BackgroundContext, _ random: inout SeededGenerator,
    depth: Int
  ) async throws -> (count: Int, late: [Task<Void, any Error>]) {
    guard depth > 0 else {
      try await increment(background)
      return (1, [])
    }
    let (kind, seed) = (random.below(4), random.next())
    return try await background.perform { _ in
      var random = SeededGenerator(seed: seed)
      switch kind {
      case 0:
        let seed = random.next()
        return try await other.perform { _ in
          var random = SeededGenerator(seed: seed)
          return try await call(background, other, &random, depth: depth - 1)
        }
      case 1:
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<4 { group.addTask { try await increment(background) } }
          try await group.waitForAll()
        }
        return (4, [])
      case 2:
        let task = Task {
          try await Task.sleep(for: .milliseconds(1))
          try await increment(background)
        }
        let inner = try await call(background, other, &random, depth: depth - 1)
        return (inner.count + 1, inner.late + [task])
      default:
        let first = try await call(background, other, &random, depth: depth - 1)
        let second = try await call(background, other, &random, depth: depth - 1)
        return (first.count + second.count, first.late + second.late)
      }
    }
  }

  @Test(.evidence("T-02"), .mustEnd, arguments: TestScale.seeds(quick: 3, all: 30))
  func `no call runs between the reads and the writes of another call`(seed: UInt64) async throws {
    let (background, other) = (container.newBackgroundContext(), container.newBackgroundContext())
    try await background.perform { context in
      _ = Counter(context: context)
      try context.save()
    }
    // All callers nest the contexts in the same order, because opposite orders could deadlock.
    let expected = try await withThrowingTaskGroup(of: Int.self) { group in
      for caller in 0..<4 as Range<UInt64> {
        group.addTask {
          var random = SeededGenerator(seed: seed * 10 + caller)
          let result = try await call(background, other, &random, depth: 4)
          for task in result.late { try await task.value }
          return result.count
        }
      }
      return try await group.reduce(0, +)
    }
    let value = try await background.perform { try $0.fetch(FetchRequest<Counter>()).first?.value }
    #expect(value == expected)
  }

  @Test(.evidence("T-08"))
  func `actors with their own executors leave the threads of the pool free`() async throws {
    let semaphore = DispatchSemaphore(value: 0)
    let actors = (0..<2 * ProcessInfo.processInfo.activeProcessorCount + 2).map { _ in
      Counters(container)
    }
    await withTaskGroup(of: Bool.self) { group in
      for actor in actors { group.addTask { await actor.block(until: semaphore) } }
      // This task needs a thread from the pool. If the actors blocked the pool's threads, none
      // would be free.
      group.addTask {
        try? await Task.sleep(for: .milliseconds(50))
        for _ in actors { semaphore.signal() }
        return true
      }
      for await isSignalled in group { #expect(isSignalled) }
    }
    let ids = try await withThrowingTaskGroup(of: ManagedObjectID.self) { group in
      for (value, actor) in actors.enumerated() { group.addTask { try await actor.add(value) } }
      return try await group.reduce(into: Set<ManagedObjectID>()) { $0.insert($1) }
    }
    #expect(ids.count == actors.count)
    let values = try container.newContext().fetch(FetchRequest<Counter>()).map(\.value)
    #expect(values.sorted() == Array(0..<actors.count))
  }

  @Test(.evidence("T-02"), .mustEnd)
  func `a call ends after all calls that its tasks have made`() async throws {
    let background = container.newBackgroundContext()
    let tasks = try await background.perform { _ in
      let (isRunning, running) = AsyncStream<Void>.makeStream()
      let (calls, call) = AsyncStream<Void>.makeStream()
      let first = Task {
        try await background.perform { _ in
          running.finish()
          // Run until the other tasks make their calls, however late they start.
          for await _ in calls.prefix(3) {}
          try await Task.sleep(for: .milliseconds(50))
        }
      }
      for await _ in isRunning {}
      // These calls begin to wait after the enclosing call does.
      return [first]
        + (0..<3).map { _ in
          Task {
            try await Task.sleep(for: .milliseconds(50))
            call.yield()
            try await background.perform { context in
              _ = Counter(context: context)
              try context.save()
            }
          }
        }
    }
    for task in tasks { try await task.value }
    let count = try await background.perform { try $0.count(for: FetchRequest<Counter>()) }
    #expect(count == 3)
  }
}
