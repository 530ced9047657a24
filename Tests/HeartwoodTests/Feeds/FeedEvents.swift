import Foundation
import Heartwood

extension ChangeFeed {
  /// Returns the next `count` events of the feed, without waiting for later events.
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

extension GraphFixture {
  /// Saves four transactions with a total of nine changes.
  func fill() throws {
    let context = self.context()
    context.transactionAuthor = "ada"
    let (ada, car) = (Person(context: context), Car(context: context))
    (ada.name, car.name, car.owner) = ("Ada", "Volvo", ada)
    try context.save()
    (ada.age, ada.nickname) = (36, "Addy")
    Person(context: context).name = "Bob"
    try context.save()
    let club = Club(context: context)
    club.members = [ada]
    try context.save()
    context.delete(ada)
    try context.save()
  }
}
