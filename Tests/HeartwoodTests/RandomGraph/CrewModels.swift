import Foundation
import Heartwood

/// The main class of the random graph.
///
/// The classes of the graph together have each kind of relationship, constraint and derived
/// attribute.
class CrewMember: ManagedObject {
  @Attribute var code: String? = nil
  @Attribute var number: Int? = nil
  @Attribute var weight: Double = 0
  @Attribute var title: String = ""
  @Attribute var note: String? = nil
  @Attribute var token: UUID = UUID()
  @Attribute var search: String = ""
  @Attribute var jobCount: Int = 0
  @ToOne var mate: CrewMember?
  @ToMany var friends: Set<CrewMember>
  @ToOne var team: CrewTeam?
  @ToOne(inverse: \CrewBadge.holder) var badge: CrewBadge?
  /// A relationship without an inverse.
  @ToOne var mentor: CrewMember?
  @OrderedToMany(inverse: \CrewJob.owner, deleteRule: .cascade) var jobs: [CrewJob]
  @ToMany(inverse: \CrewTag.members) var tags: Set<CrewTag>

  override class var entity: Entity {
    Entity("CrewMember") {
      Unique(\CrewMember.code)
      Unique(\CrewMember.number, \CrewMember.weight)
      Inverse(\CrewMember.mate, \CrewMember.mate)
      Inverse(\CrewMember.friends, \CrewMember.friends)
      Derived(\CrewMember.search, .canonical(\CrewMember.title))
      Derived(\CrewMember.jobCount, .count(\CrewMember.jobs))
    }
  }

  override func validate() throws {
    if title == CrewValue.invalidTitle { throw CrewRefusal() }
  }
}

/// The error that `validate` throws for an invalid title.
struct CrewRefusal: Error {}

final class CrewChief: CrewMember {
  @Attribute var budget: Int? = nil
}

final class CrewTeam: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var size: Int = 0
  @ToMany(inverse: \CrewMember.team) var members: Set<CrewMember>
  @ToMany(inverse: \CrewJob.reserve, deleteRule: .deny) var reserved: Set<CrewJob>

  override class var entity: Entity {
    Entity("CrewTeam") { Derived(\CrewTeam.size, .count(\CrewTeam.members)) }
  }
}

final class CrewJob: ManagedObject {
  @Attribute var title: String = ""
  /// A unique value that a cascade may free, and that `awakeFromFetch` marks in memory.
  @Attribute var code: String? = nil
  @ToOne var owner: CrewMember?
  @ToOne var reserve: CrewTeam?
  @OrderedToMany(inverse: \CrewTag.jobs) var labels: [CrewTag]

  override class var entity: Entity { Entity("CrewJob") { Unique(\CrewJob.code) } }

  override func awakeFromFetch() { code = code.map { CrewMark.marked($0) } }
}

final class CrewTag: ManagedObject {
  @Attribute var name: String? = nil
  @Attribute var plan: CrewPlan = CrewPlan()
  @ToMany var members: Set<CrewMember>
  @ToMany var jobs: Set<CrewJob>

  override class var entity: Entity { Entity("CrewTag") { Unique(\CrewTag.name) } }
}

/// A composite value, whose elements different contexts change.
struct CrewStamp: CompositeValue {
  var serial = 0
  var ink = CrewInk()
}

struct CrewInk: CompositeValue {
  var color: String? = nil
}

final class CrewBadge: ManagedObject {
  @Composite var stamp = CrewStamp()
  @ToOne var holder: CrewMember?

  override func awakeFromFetch() { stamp.serial = CrewMark.marked(stamp.serial) }
}

/// The marks that `awakeFromFetch` adds to the values that an object shows.
///
/// The row keeps the value without marks (F-13). An object in a child context has one mark more
/// than its parent's object. A value that was set has no mark.
enum CrewMark {
  private static let sign: Character = ">"
  private static let shift = 40

  static func marked(_ text: String) -> String { "\(sign)\(text)" }
  static func marked(_ number: Int) -> Int { number + 1 << shift }
  static func count(_ text: String) -> Int { text.prefix { $0 == sign }.count }
  static func count(_ number: Int) -> Int { (number + 1 << (shift - 1)) >> shift }
  static func unmarked(_ text: String) -> String { String(text.drop { $0 == sign }) }
  static func unmarked(_ number: Int) -> Int { number - count(number) << shift }
}

let crew = Schema(
  CrewMember.self, CrewChief.self, CrewTeam.self, CrewJob.self, CrewTag.self, CrewBadge.self)
