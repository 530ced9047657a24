import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Station: ManagedObject {
  @Attribute var name: String = ""
  @Attribute var least: Double? = nil
  @Attribute var most: Double? = nil
  @Attribute var leastShort: Float? = nil
  @Attribute var first: Date? = nil
  @ToMany(inverse: \Sample.station) var samples: Set<Sample>
  override class var entity: Entity {
    Entity("Station") {
      Derived(\Station.least, .min(\Station.samples, \Sample.value))
      Derived(\Station.most, .max(\Station.samples, \Sample.value))
      Derived(\Station.leastShort, .min(\Station.samples, \Sample.short))
      Derived(\Station.first, .min(\Station.samples, \Sample.time))
    }
  }
}

private final class Sample: ManagedObject {
  @Attribute var value: Double = 0
  @Attribute var short: Float? = nil
  @Attribute var time: Date = Date(timeIntervalSinceReferenceDate: 0)
  @ToOne var station: Station?
}

/// An earlier version of a program, which does not know all the values in ``Newer``.
private enum Older {
  enum Level: Int, Comparable, AttributeValue {
    case low = 1
    case high = 2
    static func < (first: Level, second: Level) -> Bool { first.rawValue < second.rawValue }
  }

  final class Board: ManagedObject {
    @Attribute var best: Level? = nil
    @Attribute var worst: Level? = nil
    @ToMany(inverse: \Report.board) var reports: Set<Report>
    override class var entity: Entity {
      Entity("Board") {
        Derived(\Board.best, .min(\Board.reports, \Report.level))
        Derived(\Board.worst, .max(\Board.reports, \Report.level))
      }
    }
  }

  final class Report: ManagedObject {
    @Attribute var level: Level = .low
    @Attribute var title: String = ""
    @ToOne var board: Board?
    override class var entity: Entity { Entity("Report") {} }
  }
}

private enum Newer {
  enum Level: Int, AttributeValue { case least, low, high, urgent }

  final class Board: ManagedObject {
    @Attribute var best: Level? = nil
    @Attribute var worst: Level? = nil
    @ToMany(inverse: \Report.board) var reports: Set<Report>
    override class var entity: Entity { Entity("Board") {} }
  }

  final class Report: ManagedObject {
    @Attribute var level: Level = .low
    @Attribute var title: String = ""
    @ToOne var board: Board?
    override class var entity: Entity { Entity("Report") {} }
  }
}

@Suite("Derived minima and maxima")
struct DerivedExtremesTests {
  @Test(
    .evidence("D-06"),
    arguments: [[.nan, 5], [5, .nan], [.nan, 7, .nan, 5], [5, 7], [.nan], [.nan, .nan], []]
      as [[Double]])
  func `derived minima and maxima ignore NaN in any position`(values: [Double]) throws {
    let fixture = try GraphFixture(Schema(Station.self, Sample.self))
    let context = fixture.context()
    let (together, apart) = (Station(context: context), Station(context: context))
    // The members of one station are saved together, those of the other one after another.
    for station in [together, apart] {
      station.name = station === together ? "together" : "apart"
      for value in values {
        let sample = Sample(context: context)
        (sample.value, sample.short, sample.station) = (value, Float(value), station)
        sample.time = Date(timeIntervalSinceReferenceDate: value)
        if station === apart { try context.save() }
      }
      try context.save()
    }
    let numbers = values.filter { !$0.isNaN }
    let found = try fixture.context().fetch(FetchRequest<Station>())
    #expect(found.count == 2)
    for station in found {
      #expect(station.least == numbers.min(), "\(station.name)")
      #expect(station.most == numbers.max(), "\(station.name)")
      #expect(station.leastShort == numbers.min().map { Float($0) }, "\(station.name)")
      #expect(
        station.first == numbers.min().map { Date(timeIntervalSinceReferenceDate: $0) },
        "\(station.name)")
    }
    for format in ["samples.@min.value == least", "samples.@max.value == most"] {
      let request = FetchRequest<Station>(where: try QueryPredicate(format: format))
      #expect(try fixture.context().count(for: request) == 2, "\(format)")
    }
  }

  @Test(.evidence("V-04"), .evidence("D-08"))
  func `derived minima and maxima ignore undecodable values`() throws {
    let store = EvolvingStore()
    try store.open(Schema(Newer.Board.self, Newer.Report.self)) { context in
      for levels: [Newer.Level] in [[.urgent, .low, .least, .high], [.urgent]] {
        let board = Newer.Board(context: context)
        for level in levels {
          let report = Newer.Report(context: context)
          (report.level, report.board) = (level, board)
        }
      }
    }
    try store.open(Schema(Older.Board.self, Older.Report.self)) { context in
      // Opening the store has computed the derived attributes.
      let boards = try context.fetch(FetchRequest<Older.Board>())
      #expect(boards.map(\.best) == [.low, nil] && boards.map(\.worst) == [.high, nil])
      for board in boards {
        let report = Older.Report(context: context)
        (report.level, report.board) = (.low, board)
      }
      try context.save()
      #expect(boards.map(\.best) == [.low, .low] && boards.map(\.worst) == [.high, .low])
      try #require(boards[0].reports.first { $0.level == .high }).level = .low
      try context.save()
      #expect(boards.map(\.worst) == [.low, .low])
    }
  }
  @Test(.evidence("D-04"), .evidence("V-05"))
  func `a unique constraint includes very long derived values`() throws {
    let fixture = try GraphFixture(towns)
    let context = fixture.context()
    let stops = (1...2).map { number in
      let (town, stop) = (Town(context: context), Stop(context: context))
      town.name = String(repeating: "x", count: 3000) + "\(number)"
      stop.town = town
      return stop
    }
    try context.save()
    stops[1].town = stops[0].town
    let error = #expect(throws: ObjectGraphError.self) { try context.save() }
    #expect(error?.kind == .constraintConflict)
    stops[1].number = 2
    try context.save()
    #expect(stops[0].town?.stopCount == 2)
  }

}
