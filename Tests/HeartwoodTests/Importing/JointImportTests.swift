import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private struct TooManyStudents: Error {}

private final class Course: ManagedObject {
  @Attribute(.unique) var name: String = ""
  @ToMany(inverse: \Student.course) var students: Set<Student>

  override func validate() throws {
    if students.count > 2 { throw TooManyStudents() }
  }
}

private final class Student: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @ToOne var course: Course?
}

/// Tests imports of elements that are valid, but together make a related object invalid.
@Suite("Imported elements that share a related object")
struct JointImportTests {
  private let context: ManagedObjectContext

  init() throws {
    context = try PersistentContainer.inMemory(schema: Schema(Student.self)).newContext()
  }

  private func upsert(
    _ text: String, _ invalidElements: ImportOptions.InvalidElements
  ) throws -> ImportReport {
    try context.upsert(Student.self, matching: \.code, from: text) {
      $0.invalidElements = invalidElements
    }
  }

  /// The codes of the stored students and the names of their courses.
  private var students: [String] {
    get throws {
      context.refreshAllObjects()
      let all = try context.fetch(FetchRequest<Student>(sort: [SortDescriptor(\.code)]))
      return all.map { "\($0.code) \($0.course?.name ?? "-")" }
    }
  }

  @Test(.evidence("IE-01"), .evidence("IE-03"))
  func `are imported one by one, until one of them makes another object invalid`() throws {
    let text = """
      {"code": "a", "course": "Latin"} {"code": "b", "course": "Latin"}
      {"code": "c", "course": "Latin"} {"code": "d", "course": "Greek"}
      {"code": "e", "course": "Latin"} {"code": "f"}
      """
    let error = #expect(throws: ObjectGraphError.self) { try upsert(text, .stop) }
    #expect(error?.message.hasPrefix("[2] cannot be imported") == true)
    #expect(try students == [])
    let report = try upsert(text, .skip)
    #expect(report.insertedCount == 4 && report.refusals.map(\.position) == [2, 4])
    #expect(try students == ["a Latin", "b Latin", "d Greek", "f -"])
  }
}
