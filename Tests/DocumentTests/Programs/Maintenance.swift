import Foundation
import Heartwood

final class Quake: ManagedObject {
  @Attribute var code: String = ""
}

func backUp(_ container: PersistentContainer, to path: String) throws {
  let snapshot = try container.store.snapshot()
  try container.store.copy(snapshot, to: path)
}

func restore(_ url: URL, from copyURL: URL) throws {
  try PersistentContainer.replaceStore(at: url, withStoreAt: copyURL)
}

func check(_ container: PersistentContainer) throws {
  let report = try container.store.verify()
  for finding in report.findings { print(finding) }
}

func measure(_ container: PersistentContainer) throws {
  let statistics = container.store.statistics
  print(statistics.pageCount * statistics.pageByteCount, statistics.logByteCount)
  if let held = statistics.oldestHeldGeneration {
    print("Generation \(held.generation.frame) keeps \(held.retainedByteCount) bytes.")
  }
  for live in try container.store.liveGenerations() {
    print(live.generation.frame, live.holders.map { $0.name ?? "unnamed" })
  }
}

func shrink(_ container: PersistentContainer) throws {
  let limit = Date.now.addingTimeInterval(-30 * 86_400)
  try container.deleteHistory(before: limit)
  _ = try container.store.compact()
}

func tryOut() throws {
  let container = try PersistentContainer.inMemory(schema: Schema(Quake.self))
  let context = container.newContext()
  Quake(context: context).code = "nc1"
  try context.save()
}
