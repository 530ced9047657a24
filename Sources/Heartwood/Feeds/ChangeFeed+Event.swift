public import Foundation

extension ChangeFeed {
  /// A change to an object, or an object that existed when the feed began.
  public struct Event: Sendable, Identifiable {
    /// The kind of an event.
    public enum Operation: String, Codable, Sendable {
      /// The object existed when the feed began.
      case existing
      /// All existing objects of the store have been returned.
      case complete
      /// The object was inserted.
      case inserted
      /// The object was updated.
      case updated
      /// The object was deleted.
      case deleted
    }

    /// The kind of the event.
    public let operation: Operation
    /// The ID of the object, or `nil` if the operation is `complete`.
    public let objectID: ManagedObjectID?
    /// The unique attribute that identifies the object, with its value, or `nil` if there is none.
    public var key: Key?
    /// The names of the properties changed by an update.
    public let changedProperties: Set<String>
    /// The values in the generation that the feed previously read.
    ///
    /// The property is `nil` if the object did not exist in that generation, if the generation is
    /// unknown, or if the feed omits these values.
    public internal(set) var before: Values?
    /// The values in ``generation``.
    ///
    /// The property is `nil` if the object does not exist in that generation, or if the feed omits
    /// these values.
    public internal(set) var after: Values?
    /// The author of the transaction, or `nil` if none was set.
    public let author: String?
    /// The time of the transaction or, for existing objects, the time of the generation.
    public let time: Date
    /// The number of the transaction in the store's history.
    ///
    /// For an existing object, this is the number of the transaction that was newest when the feed
    /// began.
    public let transaction: Int64
    /// The position of the change within its transaction.
    public let index: Int
    /// A Boolean value that indicates whether this event is the last of its transaction or, for
    /// existing objects, the last event for the store.
    public let isLast: Bool
    /// The generation that contains the values.
    ///
    /// The generation may be newer than the one that the transaction created.
    public let generation: Generation
    /// The number of the newest transaction in ``generation``.
    ///
    /// In the last event of a generation, this is the number of the event's own transaction. Once a
    /// consumer has processed that event, the consumer's copy of the store matches the generation.
    public let newestTransaction: Int64
    /// A token from which a feed can resume.
    ///
    /// If this event is the last of its transaction, the feed resumes after the event. Otherwise,
    /// the feed resumes before the transaction. The token is `nil` until all existing objects have
    /// been returned.
    public internal(set) var token: PersistentHistoryToken?
    /// The URI of the store.
    public let source: String
    /// A Boolean value that indicates whether the values from before the change are known and
    /// included in the feed.
    var includesBefore = false
    /// A Boolean value that indicates whether the feed includes the values after the change.
    let includesAfter: Bool

    /// The identifier of the event.
    ///
    /// The identifier is the same in all feeds of the store. It consists of the transaction number,
    /// followed by the position of the change, the ID of the existing object, or `complete`.
    public var id: String {
      switch operation {
      case .existing, .complete: "\(transaction)-\(objectID?.shortText ?? "complete")"
      case .inserted, .updated, .deleted: "\(transaction)-\(index)"
      }
    }

    /// The name of the object's entity, or `nil` if the operation is `complete`.
    public var entityName: String? { objectID?.entityName }

    /// Returns the event as a one-line JSON document in CloudEvents 1.0 format.
    ///
    /// `heartwoodctl follow` writes this format, and ``FeedReceiver`` reads it.
    ///
    /// - Throws: `corrupt` if a value cannot be decoded.
    public func json() throws -> Data { try Self.encoder.encode(self) }

    private static let encoder: JSONEncoder = {
      let encoder = JSONEncoder()
      encoder.dateEncodingStrategy = ExactDates.encoding
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      encoder.nonConformingFloatEncodingStrategy = JSONCoding.encodedFloats
      return encoder
    }()
  }
}
