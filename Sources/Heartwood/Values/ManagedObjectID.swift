public import Foundation

/// The identifier of an object.
///
/// A permanent ID can be used in any context, on any thread and in any process that has the store
/// open. An ID does not retain its object.
///
/// An object that has never been saved has a temporary ID, which the first save replaces with a
/// permanent ID. Even after the save, the temporary ID can be used only in the object's context,
/// and in parent and child contexts that contain the object.
///
/// The URI of an ID has the form `x-heartwood://STORE/Entity/pNUMBER` and is stable for the
/// lifetime of the store.
public struct ManagedObjectID: Hashable, Sendable {
  /// The data shared by all IDs of a store.
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

  /// A Boolean value that indicates whether the ID is temporary.
  ///
  /// An ID is temporary if it was obtained before the object's first save.
  public var isTemporary: Bool { number.isTemporary }

  /// The name of the object's entity, or `nil` if the store's schema did not contain the entity
  /// when this process read the schema.
  public var entityName: String? { space.entityNames[number.entity] }

  /// The ID as a URI.
  public var uriRepresentation: URL {
    var components = URLComponents()
    components.scheme = "x-heartwood"
    components.host = space.store.uuidString
    let kind = isTemporary ? "t" : "p"
    let name = (entityName ?? "").addingPercentEncoding(withAllowedCharacters: Self.plainInURIs)
    components.percentEncodedPath = "/\(name ?? "")/\(kind)\(number.bits & Int64.max)"
    guard let url = components.url else { preconditionFailure("The object ID's URI is malformed.") }
    return url
  }

  /// Creates an ID from its URI, or returns `nil` if the URI does not identify an object.
  public init?(uriRepresentation url: URL) {
    guard url.scheme == "x-heartwood", let store = url.host().flatMap(UUID.init(uuidString:)),
      let (name, text) = Self.components(of: url), let kind = text.first,
      kind == "p" || kind == "t", let bits = Int64(text.dropFirst()), bits >= 0
    else { return nil }
    number = ObjectNumber(bits: kind == "t" ? bits | Int64.min : bits)
    space = Space(store: store, entityNames: [number.entity: name])
  }

  /// The characters that are not percent-encoded when entity names are written in URIs.
  private static let plainInURIs = CharacterSet.urlPathAllowed
    .subtracting(CharacterSet(charactersIn: "/"))

  /// Returns the entity name and the number from a URI, or `nil` if the URI's path is malformed.
  private static func components(of url: URL) -> (name: String, number: Substring)? {
    let parts = url.path(percentEncoded: true)
      .split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].isEmpty, let name = parts[1].removingPercentEncoding else {
      return nil
    }
    return (name, parts[2])
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

  /// Hashes the object's number.
  public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

extension ManagedObjectID: Codable {
  /// Encodes the ID as its URI.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(uriRepresentation)
  }

  /// Decodes the ID from its URI.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = ManagedObjectID(uriRepresentation: try container.decode(URL.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "The URI does not identify an object.")
    }
    self = id
  }
}

extension ManagedObjectID: CustomStringConvertible {
  /// The ID as a URI.
  public var description: String { uriRepresentation.absoluteString }
}

extension ManagedObjectID {
  /// The object's number within its entity.
  package var row: Int64 { number.row }

  /// The object's number within its store.
  package var bits: Int64 { number.bits }

  /// The ID as text that omits the store, for example `Team/12`.
  package var shortText: String { "\(entityName ?? "entity \(number.entity)")/\(number.row)" }
}
