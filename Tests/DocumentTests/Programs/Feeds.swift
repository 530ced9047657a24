import Foundation
import Heartwood

protocol SearchIndex {
  func put(_ id: String, _ values: ChangeFeed.Values?) throws
  func remove(_ key: ChangeFeed.Key?) throws
}

protocol Connection {
  var messages: AsyncStream<Data> { get }
  func acknowledge(_ position: PersistentHistoryToken) async throws
}

func search(_ container: PersistentContainer, _ index: any SearchIndex) async throws {
  let feed = try container.changeFeed(from: .existingObjects, consumer: "search")
  for try await event in feed {
    switch event.operation {
    case .existing, .inserted, .updated: try index.put(event.id, event.after)
    case .deleted: try index.remove(event.key)
    case .complete: break
    }
    try feed.acknowledge(event)
  }
}

func showPrices(_ container: PersistentContainer) async throws {
  for try await event in try container.changeFeed(values: .both) {
    print(event.before?["price"] ?? .null, event.after?["price"] ?? .null)
  }
}

func keep(_ copy: PersistentContainer, of shop: PersistentContainer) async throws {
  let feed = try shop.changeFeed(from: .existingObjects, consumer: "copy")
  try await copy.follow(feed)
}

func receive(_ connection: some Connection, _ copy: PersistentContainer) async throws {
  var receiver = FeedReceiver(copy, author: "shop")
  for try await message in connection.messages {
    try receiver.add(message)
    if let position = try receiver.apply().token { try await connection.acknowledge(position) }
  }
}
