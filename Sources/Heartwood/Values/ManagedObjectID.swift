public import Foundation

/// The identifier of an object across contexts, threads and processes.
///
/// It does not keep the object or anything else alive. An object that was never saved has a
/// temporary ID, which the first save replaces. The temporary ID is valid in the object's context,
/// and in those parents and children of the context that have the object, before and after the
/// save. It is not valid anywhere else.
///
/// The URI is `x-heartwood://STORE/Entity/pNUMBER` and is stable for the lifetime of the store.
public struct ManagedObjectID: Hashable, Sendable {
  /// The data that all IDs of one store share.
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

  /// Whether the ID was taken from a new object before its first save.
  public var isTemporary: Bool { number.isTemporary }

  /// The name of the entity; `nil` if this process has not read the store's model.
  public var entityName: String? { space.entityNames[number.entity] }

  /// The ID as a URI.
  public var uriRepresentation: URL {
    var components = URLComponents()
    components.scheme = "x-heartwood"
    components.host = space.store.uuidString
    let kind = isTemporary ? "t" : "p"
    components.path = "/\(entityName ?? "")/\(kind)\(number.bits & Int64.max)"
    guard let url = components.url else { preconditionFailure("a URI of these components") }
    return url
  }

  /// Creates an ID from its URI; `nil` if the URI is not that of an object.
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

  /// Returns whether both IDs refer to the same object.
  public static func == (first: ManagedObjectID, second: ManagedObjectID) -> Bool {
    first.number == second.number
      && (first.space === second.space || first.space.store == second.space.store)
  }

  /// Hashes the object number.
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
        in: container, debugDescription: "The URI is not that of an object.")
    }
    self = id
  }
}

extension ManagedObjectID: CustomStringConvertible {
  /// The URI.
  public var description: String { uriRepresentation.absoluteString }
}
