import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// An enumeration whose order differs from that of its raw values.
private enum Urgency: String, CaseIterable, Codable, Comparable, AttributeValue {
  case low, medium, high

  private var position: Int? { Self.allCases.firstIndex(of: self) }

  static func < (first: Urgency, second: Urgency) -> Bool {
    (first.position ?? 0) < (second.position ?? 0)
  }
}

/// An enumeration whose order tools do not know.
private enum Mood: String, Codable, Comparable, AttributeValue {
  case sad, happy

  static func < (first: Mood, second: Mood) -> Bool { first == .sad && second == .happy }
}

private final class Project: ManagedObject {
  @Attribute var least: Urgency? = nil
  @Attribute var greatest: Urgency? = nil
  @Attribute var worst: Mood? = nil
  @ToMany(inverse: \Job.project) var jobs: Set<Job>

  override class var entity: Entity {
    Entity("Project") {
      Derived(\Project.least, .min(\Project.jobs, \Job.urgency))
      Derived(\Project.greatest, .max(\Project.jobs, \Job.urgency))
      Derived(\Project.worst, .min(\Project.jobs, \Job.mood))
    }
  }
}

private final class Job: ManagedObject {
  @Attribute var urgency: Urgency = .low
  @Attribute var mood: Mood? = nil
  @ToOne var project: Project?
}

@Suite("Minimums and maximums of enumerations")
struct DerivedOrderTests {
  private let directory: ScratchDirectory
  private var store: String { directory.path(of: "store") }

  init() throws {
    directory = try ScratchDirectory()
    try withContext { context in
      let project = Project(context: context)
      for urgency in Urgency.allCases {
        let job = Job(context: context)
        (job.urgency, job.project) = (urgency, project)
        try context.save()
      }
    }
  }

  private func withContext<Result>(
    _ body: (ManagedObjectContext) throws -> Result
  ) throws -> Result {
    let container = try PersistentContainer(
      url: URL(filePath: store), schema: Schema(Project.self))
    let result = try body(container.newContext())
    try container.store.close()
    return result
  }

  @Test(.evidence("M-08"), .evidence("D-03"), .evidence("D-06"))
  func `follow the program's order when heartwoodctl changes their sources`() throws {
    func values() throws -> [[Urgency?]] {
      try withContext { context in
        try context.fetch(FetchRequest<Project>()).map { [$0.least, $0.greatest] }
      }
    }
    try ToolRun("delete", store, "Job/1", "--yes").expectFine()
    #expect(try values() == [[.medium, .high]])
    for id in ["Job/2", "Job/3"] { try ToolRun("delete", store, id, "--yes").expectFine() }
    #expect(try values() == [[nil, nil]])
  }

  @Test(.evidence("M-08")) func `are not changed by heartwoodctl if their order is unknown`() throws
  {
    try ToolRun("set", store, "Job/1", "mood=sad", "--yes").expectFine()
    try ToolRun("set", store, "Job/2", "mood=happy", "--yes").expectComplaint(
      "Project.worst cannot be computed", exitCode: 1)
    let values = try withContext { context in
      try context.fetch(FetchRequest<Project>()).map(\.worst)
    }
    #expect(values == [.sad])
  }
}
