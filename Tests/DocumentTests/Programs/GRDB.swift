import Foundation
import Heartwood

final class Player: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var score: Int = 0
  @ToOne var team: Team?

  override class var entity: Entity {
    Entity("Player") { Index(\Player.score) }
  }
}

final class Team: ManagedObject {
  @Attribute var name: String = ""
  @ToMany(inverse: \Player.team) var players: Set<Player>
}

func bestPlayers(at url: URL) async throws -> [String] {
  let container = try PersistentContainer(url: url, schema: Schema(Player.self, Team.self))

  // Instead of `try await writer.write { db in … }`.
  try await container.performBackgroundTask { context in
    let team = Team(context: context)
    team.name = "Red"
    for (name, score) in [("Arthur", 100), ("Barbara", 1000)] {
      let player = Player(context: context)
      (player.name, player.score, player.team) = (name, score, team)
    }
    try context.save()
  }

  // Instead of `try reader.read { db in … }`; `team` needs no join.
  let context = container.newContext()
  let best = try context.fetch(
    FetchRequest<Player>(
      where: #Predicate { $0.score >= 500 },
      sort: [SortDescriptor(\.score, order: .reverse)], limit: 10))
  return best.map { "\($0.name), \($0.team?.name ?? "no team")" }
}

@main struct Program {
  static func main() async throws {
    let url = URL(filePath: "grdb.store")
    print(try await bestPlayers(at: url))
  }
}
