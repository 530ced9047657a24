import HeartwoodEngine
import HeartwoodTestSupport
import Testing

/// The roles of the participants of a schedule, and the initial state of the store.
struct ScheduleScenario: Sendable, CustomTestStringConvertible {
  /// The role of a participant; each participant has its own process.
  enum Role: Sendable {
    /// Makes the given number of commits.
    case writer(Int, StoreOptions.Durability)
    /// Pins the newest generation twice, and reads each of the two snapshots while holding the
    /// other.
    case reader
    /// Repeatedly runs maintenance, which reclaims frames that no held generation needs.
    case checkpointer(Int)
    /// Repeatedly makes a commit and then runs maintenance.
    case housekeeper(Int)
    /// Pins the generation of the given transaction, which may have expired unless it is held.
    case pinner(Int)
    /// Gives a name to a generation that is no longer the newest, and then releases the name.
    case keeper
    /// Reads the statistics.
    case observer
    /// Opens the store and reads from it, and then either commits and closes the store or keeps it
    /// open.
    case opener(commits: Bool)
    /// Kills another participant.
    case killer(of: Int)
  }

  let name: String
  let roles: [Role]
  /// The number of transactions that are committed before the participants begin.
  var preparedCount = 2
  /// The prepared transactions whose generations are held during the whole schedule.
  var held: Set<Int> = []
  /// The prepared transaction after which maintenance is run, if any.
  var passAfter: Int?
  /// The prepared transactions whose generations are held only until the end of that maintenance
  /// run.
  var released: Set<Int> = []
  /// A Boolean value that indicates whether an idle process has the store open during the whole
  /// schedule.
  var isOpenElsewhere = true

  var testDescription: String { name }

  static let all: [ScheduleScenario] = [
    ScheduleScenario(name: "writer, reader", roles: [.writer(2, .normal), .reader]),
    ScheduleScenario(name: "writer with maintenance, reader", roles: [.housekeeper(1), .reader]),
    ScheduleScenario(
      name: "writer with maintenance beside an old pin, reader", roles: [.housekeeper(1), .reader],
      preparedCount: 3, held: [2]),
    ScheduleScenario(
      name: "writer, maintenance, reader", roles: [.writer(1, .full), .checkpointer(1), .reader]),
    ScheduleScenario(
      name: "two maintenance runs, reader",
      roles: [
        .checkpointer(1), .writer(1, .full), .checkpointer(1),
        .reader,
      ]),
    ScheduleScenario(
      name: "writer, maintenance beside an old pin, reader",
      roles: [.writer(1, .full), .checkpointer(2), .reader], preparedCount: 4, held: [2]),
    ScheduleScenario(
      name: "token of a held generation, maintenance",
      roles: [.pinner(2), .checkpointer(2)], preparedCount: 4, held: [2], passAfter: 1),
    ScheduleScenario(
      name: "token of a held generation the map leads to, maintenance",
      roles: [.pinner(4), .checkpointer(1)], preparedCount: 5, held: [4], passAfter: 5,
      released: [2]),
    ScheduleScenario(
      name: "token of an unheld generation, maintenance",
      roles: [.pinner(3), .checkpointer(2)], preparedCount: 4, held: [2], passAfter: 1),
    ScheduleScenario(
      name: "token of an unheld generation, keeper, maintenance",
      roles: [.pinner(3), .keeper, .checkpointer(1)], preparedCount: 3, held: [1]),
    ScheduleScenario(
      name: "two writers, maintenance",
      roles: [.writer(1, .full), .writer(2, .normal), .checkpointer(2)]),
    ScheduleScenario(
      name: "two writers", roles: [.writer(1, .full), .writer(2, .full)]),
    ScheduleScenario(
      name: "two writers, one without syncs, reader",
      roles: [.writer(1, .full), .writer(1, .normal), .reader]),
    ScheduleScenario(
      name: "writer killed, writer",
      roles: [.writer(1, .full), .killer(of: 0), .writer(1, .full)]),
    ScheduleScenario(
      name: "writer killed, maintenance, reader",
      roles: [.writer(2, .full), .killer(of: 0), .checkpointer(1), .reader]),
    ScheduleScenario(
      name: "maintenance killed, writer",
      roles: [.checkpointer(1), .killer(of: 0), .writer(2, .full)], preparedCount: 3),
    ScheduleScenario(
      name: "maintenance killed, token of a held generation",
      roles: [.checkpointer(1), .killer(of: 0), .pinner(2)], preparedCount: 3, held: [2]),
    ScheduleScenario(
      name: "maintenance killed, maintenance, reader",
      roles: [.checkpointer(1), .killer(of: 0), .checkpointer(1), .reader], preparedCount: 4,
      held: [2]),
    ScheduleScenario(
      name: "opener, writer", roles: [.opener(commits: true), .writer(1, .full)]),
    ScheduleScenario(
      name: "opener, writer with maintenance", roles: [.opener(commits: false), .housekeeper(1)]),
    ScheduleScenario(
      name: "opener, maintenance", roles: [.opener(commits: true), .checkpointer(1)],
      preparedCount: 3),
    ScheduleScenario(
      name: "two openers", roles: [.opener(commits: true), .opener(commits: false)],
      isOpenElsewhere: false),
    ScheduleScenario(
      name: "opener killed, opener",
      roles: [.opener(commits: true), .killer(of: 0), .opener(commits: true)],
      isOpenElsewhere: false),
    ScheduleScenario(
      name: "keeper, maintenance", roles: [.keeper, .checkpointer(1)], preparedCount: 3, held: [1]),
    ScheduleScenario(
      name: "statistics, writer with maintenance", roles: [.observer, .housekeeper(1)]),
    ScheduleScenario(
      name: "keeper, writer, maintenance",
      roles: [.keeper, .writer(1, .normal), .checkpointer(1)], preparedCount: 3, held: [1]),
  ]
}
