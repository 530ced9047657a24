import Foundation
import Heartwood

@MainActor func follow(_ container: PersistentContainer) async throws {
  let view = container.viewContext
  var position = try container.currentHistoryToken
  for await _ in container.remoteChanges {
    for transaction in try container.fetchHistory(after: position) {
      try view.mergeChanges(from: transaction)
      position = transaction.token
    }
    // update the screen
  }
}
