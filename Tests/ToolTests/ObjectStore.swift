import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// A team of players, whose order matters in its line-up.
final class ToolTeam: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToMany(inverse: \ToolPlayer.team, deleteRule: .deny) var players: Set<ToolPlayer>
  @OrderedToMany(inverse: \ToolPlayer.lineUps) var lineUp: [ToolPlayer]

  override class var entity: Entity { Entity("Team") }
}

class ToolPlayer: ManagedObject {
  @Attribute(.indexed) var name: String = ""
  @Attribute var number: Int16? = nil
  @Attribute var born: Date = Date(timeIntervalSinceReferenceDate: 0)
  @Attribute var weight: Double = 0
  @Attribute(.unique) var tag: Int? = nil
  /// An attribute whose name is also a word of the format language.
  @Attribute var yes: Bool = true
  @ToOne var team: ToolTeam?
  @ToMany var lineUps: Set<ToolTeam>

  override class var entity: Entity {
    Entity("Player") { Unique(\ToolPlayer.name, \ToolPlayer.number) }
  }
}

final class ToolCaptain: ToolPlayer {
  @Attribute var badge: UInt64 = 0

  override class var entity: Entity { Entity("Captain") }
}

/// An object with an attribute of each kind.
final class ToolOddity: ManagedObject {
  struct Place: Codable, AttributeValue { var x = 1.5, y = "two" }

  @Attribute(.unique) var code: UUID = UUID()
  @Attribute var flag: Bool = false
  @Attribute var tiny: Int8 = -128
  @Attribute var large: UInt64 = .max
  @Attribute var single: Float = 0.1
  @Attribute var double: Double = 0
  @Attribute var moment: Date = .distantPast
  @Attribute var text: String = ""
  @Attribute var data: Data = Data([0, 255])
  @Attribute var price: Decimal = 12.50
  @Attribute var link: URL? = nil
  @Attribute var place: Place = Place()
  @Attribute var words: [String] = ["one", "two"]

  override class var entity: Entity { Entity("Oddity") }
}

/// A store with objects, which the test process closes before the tool reads it.
struct ObjectStore {
  let fixture: StoreFixture

  static let schema = Schema(ToolTeam.self, ToolCaptain.self, ToolOddity.self)

  /// Texts that could spoil the output of a tool.
  static let oddTexts = [
    "", "nil", "-", "a,b", "a\"b", "two\nlines", "\u{1B}[31mred", "\u{202E}right to left",
    "e\u{301}", "宽字符", "👩‍👩‍👧", "a|b`c*d", "</script><b>", "\"\u{301}a", "|\u{301}b",
    String(repeating: "long ", count: 5000),
  ]

  /// - Parameters:
  ///   - oddities: `true` if the store contains odd values.
  ///   - isEmpty: `true` if the store contains only the model.
  init(oddities: Bool = true, isEmpty: Bool = false) throws {
    fixture = try StoreFixture.onDisk()
    try change(author: "fixture") { context in
      guard !isEmpty else { return }
      let teams = ["Reds", "Blues", "Empty"].map { name in
        let team = ToolTeam(context: context)
        team.name = name
        return team
      }
      for index in 0..<6 {
        let player = index == 5 ? ToolCaptain(context: context) : ToolPlayer(context: context)
        player.name = "P\(index)"
        player.number = index == 4 ? nil : Int16(index)
        player.weight = Double(index) * 10.5
        player.born = Date(timeIntervalSinceReferenceDate: Double(index) * 86_400.5)
        player.team = index < 4 ? teams[index % 2] : nil
      }
      let players = try context.fetch(FetchRequest<ToolPlayer>(sort: [SortDescriptor(\.name)]))
      teams[0].lineUp = players.reversed()
      guard oddities else { return }
      for text in Self.oddTexts {
        let oddity = ToolOddity(context: context)
        oddity.text = text
      }
      let extreme = ToolOddity(context: context)
      extreme.double = .nan
      extreme.single = .infinity
      extreme.moment = Date(timeIntervalSinceReferenceDate: -20_000_000_000.125)
      extreme.link = URL(string: "https://example.org/a?b=c")
    }
  }

  func change(author: String? = nil, _ body: (ManagedObjectContext) throws -> Void) throws {
    let container = try PersistentContainer(
      url: URL(filePath: fixture.path), schema: Self.schema)
    let context = container.newContext()
    context.transactionAuthor = author
    try body(context)
    try context.save()
    try container.store.close()
  }

  func generation() throws -> Generation {
    try fixture.run { store in try store.snapshot().generation }
  }

  func keep(_ name: String) throws {
    try fixture.run { store in try store.keep(store.snapshot().generation, as: name) }
  }

  func run(_ command: String, _ arguments: String...) throws -> ToolRun {
    try ToolRun([command, fixture.path] + arguments)
  }
}
