import Heartwood

/// The properties that all classes of the graph have.
protocol CrateObject: ManagedObject {
  /// A number that identifies the object in the messages of a run.
  var serial: Int { get set }
  var code: String? { get set }
  var number: Int { get set }
  var text: String { get set }
}

/// The main class of the graph.
///
/// The classes of the graph together have each kind of relationship and delete rule.
class Crate: ManagedObject, CrateObject {
  @Attribute var serial: Int = 0
  @Attribute var code: String? = nil
  @Attribute var number: Int = 0
  @Attribute var text: String = ""
  @Attribute var itemCount: Int = 0
  @Attribute var total: Int = 0
  @OrderedToMany(inverse: \CrateItem.crate, deleteRule: .cascade) var items: [CrateItem]
  /// A relationship without an inverse.
  @ToOne var favourite: CrateItem?
  @ToMany(inverse: \CrateTag.crates) var tags: Set<CrateTag>

  override class var entity: Entity {
    Entity("Crate") {
      Unique(\Crate.code)
      Index(\Crate.number)
      Derived(\Crate.itemCount, .count(\Crate.items))
      Derived(\Crate.total, .sum(\Crate.items, \CrateItem.number))
    }
  }
}

final class SealedCrate: Crate {
  @Attribute var seal: Int? = nil

  override class var entity: Entity { Entity("SealedCrate") { Unique(\SealedCrate.seal) } }
}

final class CrateItem: ManagedObject, CrateObject {
  @Attribute var serial: Int = 0
  @Attribute var code: String? = nil
  @Attribute var number: Int = 0
  @Attribute var text: String = ""
  @Attribute var crateText: String? = nil
  @ToOne var crate: Crate?
  @OrderedToMany(inverse: \CrateTag.items) var tags: [CrateTag]

  override class var entity: Entity {
    Entity("CrateItem") {
      Unique(\CrateItem.code)
      Index(\CrateItem.number, \CrateItem.text)
      Derived(\CrateItem.crateText, .copy(of: \CrateItem.crate, \Crate.text))
    }
  }
}

final class CrateTag: ManagedObject, CrateObject {
  @Attribute var serial: Int = 0
  @Attribute var code: String? = nil
  @Attribute var number: Int = 0
  @Attribute var text: String = ""
  @OrderedToMany var items: [CrateItem]
  @ToMany var crates: Set<Crate>
  @ToMany var friends: Set<CrateTag>
  @ToOne var mate: CrateTag?
  @ToOne var parent: CrateTag?
  @ToMany(inverse: \CrateTag.parent, deleteRule: .cascade) var children: Set<CrateTag>
  @ToOne(inverse: \CrateLock.tag) var lock: CrateLock?

  override func awakeFromFetch() { text = CrewMark.marked(text) }

  override class var entity: Entity {
    Entity("CrateTag") {
      Unique(\CrateTag.code)
      Inverse(\CrateTag.friends, \CrateTag.friends)
      Inverse(\CrateTag.mate, \CrateTag.mate)
    }
  }
}

final class CrateLock: ManagedObject, CrateObject {
  @Attribute var serial: Int = 0
  @Attribute var code: String? = nil
  @Attribute var number: Int = 0
  @Attribute var text: String = ""
  @ToOne(deleteRule: .deny) var tag: CrateTag?

  override class var entity: Entity { Entity("CrateLock") { Unique(\CrateLock.code) } }
}

let crates = Schema(
  Crate.self, SealedCrate.self, CrateItem.self, CrateTag.self, CrateLock.self)

/// A relationship of an object, with its members and the other side.
struct CrateLink {
  let name: String
  let members: [ManagedObject]
  /// Returns the members of the inverse relationship of a member.
  let inverse: (ManagedObject) -> [ManagedObject]

  private init<Member: ManagedObject, Owners: Sequence>(
    _ name: String, _ members: some Sequence<Member>, _ inverse: @escaping (Member) -> Owners
  ) where Owners.Element: ManagedObject {
    self.name = name
    self.members = Array(members)
    self.inverse = { member in
      (member as? Member).map { inverse($0).map { $0 as ManagedObject } } ?? []
    }
  }

  /// Returns all relationships of an object except the relationship without an inverse.
  static func all(of object: ManagedObject) -> [CrateLink] {
    func list<Target>(_ target: Target?) -> [Target] { target.map { [$0] } ?? [] }
    return switch object {
    case let crate as Crate:
      [
        CrateLink("items", crate.items) { list($0.crate) },
        CrateLink("tags", crate.tags) { $0.crates },
      ]
    case let item as CrateItem:
      [
        CrateLink("crate", list(item.crate)) { $0.items },
        CrateLink("tags", item.tags) { $0.items },
      ]
    case let tag as CrateTag:
      [
        CrateLink("items", tag.items) { $0.tags },
        CrateLink("crates", tag.crates) { $0.tags },
        CrateLink("friends", tag.friends) { $0.friends },
        CrateLink("children", tag.children) { list($0.parent) },
        CrateLink("mate", list(tag.mate)) { list($0.mate) },
        CrateLink("parent", list(tag.parent)) { $0.children },
        // Only a save denies a deletion; until then, a deleted lock keeps its tag.
        CrateLink("lock", list(tag.lock).filter { !$0.isDeleted }) { list($0.tag) },
      ]
    case let lock as CrateLock:
      [CrateLink("tag", list(lock.tag).filter { !$0.isDeleted }) { list($0.lock) }]
    default: []
    }
  }
}
