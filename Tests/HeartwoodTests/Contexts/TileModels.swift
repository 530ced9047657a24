import Foundation
import Heartwood

/// An object that contexts of several processes change concurrently.
final class Tile: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var weight: Int = 0
  @Attribute var colour: String? = nil
  @ToOne var box: Box?

  override class var entity: Entity {
    Entity("Tile") {
      Index(\Tile.name)
      Index(\Tile.weight)
    }
  }
}

/// A box that contains tiles; boxes are neither added nor removed.
final class Box: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Tile.box) var tiles: Set<Tile>
}

let tiles = Schema(Tile.self, Box.self)
let boxNames = ["A", "B", "C"]

/// The values of a tile, apart from its name.
struct TileRow: Codable, Hashable {
  /// The attributes and relationships of a tile that can change.
  enum Field: String, CaseIterable { case weight, colour, box }

  var weight = 0
  var colour: String?
  var box: String?

  func differs(from other: TileRow, in field: Field) -> Bool {
    switch field {
    case .weight: weight != other.weight
    case .colour: colour != other.colour
    case .box: box != other.box
    }
  }

  mutating func copy(_ field: Field, from other: TileRow) {
    switch field {
    case .weight: weight = other.weight
    case .colour: colour = other.colour
    case .box: box = other.box
    }
  }
}

/// A command to a context in this process or in another process.
enum TileCommand: Codable {
  case pin(Int, QueryGenerationToken?)
  case edit(Int, TileEdit, inChild: Bool)
  /// Sets the weight of a tile that has no row in the context's generation.
  case editMissing(Int, ManagedObjectID, weight: Int)
  case save(Int, policy: TilePolicy, unpins: Bool)
  case rollback(Int)
  case reset(Int)
  /// Merges the history transactions that the context has not merged yet.
  case merge(Int)
  /// Merges the changes since the given generation.
  case mergeSince(Int, QueryGenerationToken)
  case batch(Int, TileBatch)
  /// Reads everything with several kinds of fetches, and looks up the objects with the given IDs.
  case read(Int, inChild: Bool, [ManagedObjectID])
  case changes(QueryGenerationToken, QueryGenerationToken)
  /// Makes several commits before replying.
  case burst(seed: UInt64, count: Int)
  /// Releases the generations that a burst has retained.
  case release
}

enum TileEdit: Codable {
  case insert(String, TileRow)
  case weight(String, Int)
  case colour(String, String?)
  case move(String, to: String?)
  case delete(String)
}

enum TileBatch: Codable {
  case insert([String], weight: Int)
  case raise(from: Int)
  case delete(below: Int)
}

enum TilePolicy: String, Codable, CaseIterable {
  case error, storeTrump, objectTrump, overwrite, rollback

  var mergePolicy: MergePolicy {
    switch self {
    case .error: .error
    case .storeTrump: .mergeByPropertyStoreTrump
    case .objectTrump: .mergeByPropertyObjectTrump
    case .overwrite: .overwrite
    case .rollback: .rollback
    }
  }
}

/// The complete content of a context.
struct TileView: Codable, Equatable {
  var tiles: [String: TileRow] = [:]
  /// The names of the tiles in each box.
  var boxes: [String: Set<String>] = [:]
  /// The names of the tiles lighter than 3, found through an index.
  var light: Set<String> = []
  /// The number of tiles without a colour.
  var plainCount = 0
  /// The names of the tiles in each box, found by the name of the box.
  var byBox: [String: Set<String>] = [:]
  /// The names of the tiles found by the requested IDs.
  var found: Set<String> = []
  var ids: [String: ManagedObjectID] = [:]
}

/// The reply to a command.
struct TileAnswer: Codable {
  var view: TileView?
  /// The token of the generation to which the context is pinned.
  var token: QueryGenerationToken?
  var failure: String?
  var count = 0
  var commits: [TileCommit] = []
  var changes: TileChanges?
}

/// A commit of a burst, with its token and the content that its writer sees.
struct TileCommit: Codable {
  let token: QueryGenerationToken
  let view: TileView
}

/// The content of a `ChangeSet`, in a form that can be sent to another process.
struct TileChanges: Codable {
  let inserted: Set<ManagedObjectID>
  let deleted: Set<ManagedObjectID>
  let updated: [ManagedObjectID: Set<String>]
}
