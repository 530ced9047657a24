public import Foundation

/// What names an object across contexts, threads and processes.
///
/// It does not keep the object, nor anything else. The ID of an object that was never saved is
/// temporary: the first save replaces it. It names the object in its context, and in parents and
/// children of that which have the object, before the save and after it, and nothing anywhere else.
///
/// It is written as `x-heartwood://STORE/Entity/pNUMBER`, which stays the same as long as the store
/// lives.
public struct ManagedObjectID: Hashable, Sendable {
  /// What all IDs of one store share.
  final class Space: Sendable {
    let store: UUID
    let entityNames: [Int: String]

    init(store: UUID, entityNames: [Int: String]) {
      self.store = store
      self.entityNames = entityNames
    }
  }

  let space: Space
  let number: ObjectNumber

  /// Whether it is the ID of a new object, which was not saved when the ID was taken.
  public var isTemporary: Bool { number.isTemporary }

  /// The name of the entity, if this process has seen the store's model.
  public var entityName: String? { space.entityNames[number.entity] }

  /// The ID as a URI.
  public var uriRepresentation: URL {
    var components = URLComponents()
    components.scheme = "x-heartwood"
    components.host = space.store.uuidString
    let kind = isTemporary ? "t" : "p"
    components.path = "/\(entityName ?? "")/\(kind)\(number.bits & Int64.max)"
    guard let url = components.url else { preconditionFailure("a URI of these parts") }
    return url
  }

  /// The ID that a URI names; `nil` if it names none.
  public init?(uriRepresentation url: URL) {
    guard url.scheme == "x-heartwood", let store = url.host().flatMap(UUID.init(uuidString:)),
      url.pathComponents.count == 3, let kind = url.pathComponents[2].first,
      kind == "p" || kind == "t", let bits = Int64(url.pathComponents[2].dropFirst()), bits >= 0
    else { return nil }
    number = ObjectNumber(bits: kind == "t" ? bits | Int64.min : bits)
    space = Space(store: store, entityNames: [number.entity: url.pathComponents[1]])
  }

  init(_ number: ObjectNumber, _ space: Space) {
    self.number = number
    self.space = space
  }

  /// Whether both name the same object.
  public static func == (first: ManagedObjectID, second: ManagedObjectID) -> Bool {
    first.number == second.number
      && (first.space === second.space || first.space.store == second.space.store)
  }

  /// Feeds the number of the object.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

extension ManagedObjectID: Codable {
  /// Writes the ID as its URI.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(uriRepresentation)
  }

  /// Reads the ID from its URI.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = ManagedObjectID(uriRepresentation: try container.decode(URL.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "This URI names no object.")
    }
    self = id
  }
}

extension ManagedObjectID: CustomStringConvertible {
  /// The URI.
  public var description: String { uriRepresentation.absoluteString }
}
