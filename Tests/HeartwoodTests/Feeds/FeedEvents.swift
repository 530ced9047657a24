import Foundation
import Heartwood

extension ChangeFeed {
  /// Returns the next events of the feed, in a task that must not wait for longer than they take.
  func first(_ count: Int) async throws -> [Event] {
    var events: [Event] = []
    guard count > 0 else { return events }
    for try await event in self {
      events.append(event)
      if events.count == count { break }
    }
    return events
  }

  /// Returns the events up to the newest transaction of the container.
  ///
  /// At least one event must follow the start of the feed.
  func all(of container: PersistentContainer) async throws -> [Event] {
    var events: [Event] = []
    for try await event in self {
      events.append(event)
      if event.isLast, let token = event.token, try container.fetchHistory(after: token).isEmpty {
        break
      }
    }
    return events
  }
}

extension ChangeFeed.Event {
  /// The event as a JSON object.
  var object: [String: Any] {
    get throws {
      let object = try JSONSerialization.jsonObject(with: json())
      return object as? [String: Any] ?? [:]
    }
  }

  /// The part of the JSON object that describes the change.
  var data: [String: Any] {
    get throws { try object["data"] as? [String: Any] ?? [:] }
  }
}
