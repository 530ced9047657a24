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

func thin(_ backup: Backup) throws {
  let limit = UInt64(Date.now.timeIntervalSince1970 * 1000) - 7 * 86_400_000
  try backup.thin { $0.time >= limit || !$0.names.isEmpty }
}
