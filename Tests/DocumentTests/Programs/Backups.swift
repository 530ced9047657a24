import Foundation
import Heartwood

func backUp(_ container: PersistentContainer) throws {
  try container.store.backup(to: "/backups/shop")
}

func restore() throws {
  let backup = Backup(at: "/backups/shop")
  for point in try backup.restorePoints() { print(point.generation, point.time, point.names) }
  try backup.restore(to: "shop-restored")
}

func follow() throws {
  let replica = try Replica(at: "shop-replica", following: Backup(at: "/backups/shop"))
  for generation in try replica.advance() { print("added", generation) }
}

func openReplica(_ url: URL, _ schema: Schema) throws -> PersistentContainer {
  var options = ContainerOptions()
  options.store.isReadOnly = true
  let container = try PersistentContainer(url: url, schema: schema, options: options)
  return container
}

func thin(_ backup: Backup) throws {
  let limit = UInt64(Date.now.timeIntervalSince1970 * 1000) - 7 * 86_400_000
  try backup.thin { $0.time >= limit || !$0.names.isEmpty }
}
