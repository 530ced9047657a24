import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A store whose changes are fed to another store, which initially has no objects.
struct FeedStores {
  let source: ObjectStore
  let target: ObjectStore

  init() throws {
    source = try ObjectStore(oddities: false)
    target = try ObjectStore(isEmpty: true)
    try source.change { context in
      for (tag, player) in try context.fetch(FetchRequest<ToolPlayer>()).enumerated() {
        player.tag = tag
      }
    }
  }

  /// Returns the objects of a store, without their IDs.
  func objects(_ store: ObjectStore) throws -> [String] {
    try [
      ("Team", "name,players.@count,lineUp.@count"),
      ("Player", "tag,name,number,born,weight,yes,team.name,lineUps.@count"),
      ("Captain", "tag,badge"), ("Oddity", "code,text,double,moment,data,price,place,words"),
    ].flatMap { entity, columns in
      let order = String(columns.prefix { $0 != "," })
      let run = try store.run("query", entity, "--columns", columns, "--sort", order, "--jsonl")
      run.expectFine()
      return run.lines
    } + lineUps(store)
  }

  func expectEqual(
    _ label: String, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let (copied, wanted) = (try objects(target), try objects(source))
    let difference = wanted.difference(from: copied)
    #expect(difference.isEmpty, "\(label): \(difference)", sourceLocation: location)
  }

  func lineUps(_ store: ObjectStore) throws -> [String] {
    var result: [String] = []
    try store.change { context in
      for team in try context.fetch(FetchRequest<ToolTeam>(sort: [SortDescriptor(\.name)])) {
        result.append("\(team.name): \(team.lineUp.map { $0.tag ?? -1 })")
      }
    }
    return result
  }

  func change(_ random: inout SeededGenerator) throws {
    var generator = random.forked()
    try source.change { context in
      for _ in 0..<(1 + generator.below(4)) { try Self.step(context, &generator) }
    }
  }

  private static func step(
    _ context: ManagedObjectContext, _ random: inout SeededGenerator
  ) throws {
    let teams = try context.fetch(FetchRequest<ToolTeam>(sort: [SortDescriptor(\.name)]))
    let players = try context.fetch(FetchRequest<ToolPlayer>(sort: [SortDescriptor(\.tag)]))
    let (team, player) = (
      teams.randomElement(using: &random), players.randomElement(using: &random)
    )
    switch random.below(10) {
    case 0:
      let new = ToolTeam(context: context)
      new.name = "team \(random.below(1 << 30))"
      new.lineUp = Array(players.prefix(random.below(4)))
    case 1, 2:
      let new = random.below(3) == 0 ? ToolCaptain(context: context) : ToolPlayer(context: context)
      new.tag = 100 + random.below(1 << 30)
      new.name = "player \(random.below(1 << 30))"
      new.team = team
    case 3: player?.team = team
    case 4: team?.lineUp.shuffle(using: &random)
    case 5: if let player { team?.lineUp.removeAll { $0 === player } }
    case 6: team?.name = "renamed \(random.below(1 << 30))"
    case 7:
      guard let player else { break }
      context.delete(player)
    case 8:
      let free = teams.first { $0.players.isEmpty }
      if let free { context.delete(free) }
    default:
      player?.weight = Double(random.below(1000))
      player?.name = "n\(random.below(1 << 30))"
      let oddity = ToolOddity(context: context)
      oddity.text = ObjectStore.oddTexts[random.below(ObjectStore.oddTexts.count)]
      oddity.double = [.nan, -.infinity, 0.1][random.below(3)]
    }
  }
}
