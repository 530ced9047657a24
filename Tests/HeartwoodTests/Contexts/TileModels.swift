import Foundation
import Heartwood

/// What several contexts of several processes change at the same time.
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

/// Where tiles lie; there are always the same ones.
final class Box: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Tile.box) var tiles: Set<Tile>
}

let tiles = Schema(Tile.self, Box.self)
let boxNames = ["A", "B", "C"]

/// What a tile is, apart from its name.
struct TileRow: Codable, Hashable {
  /// What can be changed of it.
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

  mutating func take(_ field: Field, from other: TileRow) {
    switch field {
    case .weight: weight = other.weight
    case .colour: colour = other.colour
    case .box: box = other.box
    }
  }
}

/// What a context is to do, in this process or in another one.
enum TileCommand: Codable {
  case pin(Int, QueryGenerationToken?)
  case edit(Int, TileEdit, below: Bool)
  case save(Int, policy: TilePolicy, unpins: Bool)
  case rollback(Int)
  case reset(Int)
  /// Merges what is new in the history.
  case merge(Int)
  /// Merges what has changed since a generation.
  case mergeSince(Int, QueryGenerationToken)
  case batch(Int, TileBatch)
  /// Reads everything in every way; the objects of some IDs one by one.
  case read(Int, below: Bool, [ManagedObjectID])
  case changes(QueryGenerationToken, QueryGenerationToken)
  /// Commits several times, with nobody telling what.
  case burst(seed: UInt64, count: Int)
  /// Lets go of what a burst has made.
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

/// All that a context shows.
struct TileView: Codable, Equatable {
  var tiles: [String: TileRow] = [:]
  /// The names of the tiles in each box.
  var boxes: [String: Set<String>] = [:]
  /// The tiles lighter than 3, found by an index.
  var light: Set<String> = []
  /// How many have no colour.
  var plainCount = 0
  /// The tiles found by the names of their boxes.
  var byBox: [String: Set<String>] = [:]
  /// The tiles of the IDs that were asked for, by name.
  var found: Set<String> = []
  var ids: [String: ManagedObjectID] = [:]
}

/// What a context answers.
struct TileAnswer: Codable {
  var view: TileView?
  /// What the context is pinned to.
  var token: QueryGenerationToken?
  var failure: String?
  var count = 0
  var commits: [TileCommit] = []
  var changes: TileChanges?
}

/// A generation as who has made it sees it.
struct TileCommit: Codable {
  let token: QueryGenerationToken
  let view: TileView
}

/// A change set in parts that can be sent.
struct TileChanges: Codable {
  let inserted: Set<ManagedObjectID>
  let deleted: Set<ManagedObjectID>
  let updated: [ManagedObjectID: Set<String>]
}
