public import Foundation

extension ChangeFeed {
  /// A change to an object, or an object that existed when the feed began.
  public struct Event: Sendable, Identifiable {
    /// The kind of an event.
    public enum Operation: String, Codable, Sendable {
      /// The object existed when the feed began.
      case existing
      /// All objects of the store that existed when the feed began have been returned.
      case complete
      /// The object was inserted.
      case inserted
      /// The object was updated.
      case updated
      /// The object was deleted.
      case deleted
    }

    /// What happened to the object.
    public let operation: Operation
    /// The ID of the object, or `nil` if the operation is `complete`.
    public let objectID: ManagedObjectID?
    /// A unique attribute of the object, or `nil` if it has none.
    public var key: Key?
    /// The names of the properties that an update changed.
    public let changedProperties: Set<String>
    /// The values in the generation that the feed read before this one; `nil` if the object did not
    /// exist there, if that generation is not known, or if the feed leaves these values out.
    public internal(set) var before: Values?
    /// The values in ``generation``; `nil` if the object does not exist there, or if the feed
    /// leaves these values out.
    public internal(set) var after: Values?
    /// The author of the transaction, or `nil` if none was set.
    public let author: String?
    /// The time of the transaction, or that of the generation for existing objects.
    public let time: Date
    /// The number of the transaction in the history of the store, or that of the newest transaction
    /// for existing objects.
    public let transaction: Int64
    /// The position of the change in its transaction.
    public let index: Int
    /// Whether the transaction, or the existing objects of the store, end with this event.
    public let isLast: Bool
    /// The generation that contains the values, which may be newer than the transaction.
    public let generation: Generation
    /// A token with which a feed repeats no earlier event, and begins after this event if it is the
    /// last of its transaction, or before the transaction; `nil` if the existing objects are not
    /// complete.
    public internal(set) var token: PersistentHistoryToken?
    /// The URI of the store.
    public let source: String
    /// Whether the feed includes the values before the change, and they are known.
    var includesBefore = false
    /// Whether the feed includes the values after the change.
    let includesAfter: Bool

    /// The identifier of the event, which is the same each time that a feed of the store returns
    /// it.
    ///
    /// It contains the number of the transaction, and the position of the change in it or the
    /// object.
    public var id: String {
      switch operation {
      case .existing: "\(transaction)-\(objectID?.shortText ?? "")"
      case .complete: "\(transaction)-complete"
      case .inserted, .updated, .deleted: "\(transaction)-\(index)"
      }
    }

    /// The name of the object's entity, or `nil` if the operation is `complete`.
    public var entityName: String? { objectID?.entityName }

    /// Returns the event as a JSON document on one line, in the format of CloudEvents 1.0.
    ///
    /// This is what `heartwoodctl follow` writes, and what
    /// ``FeedReceiver`` reads.
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
