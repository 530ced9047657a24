import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class Guest: ManagedObject {
  @Attribute(.unique) var code: String = ""
  @Attribute(.unique) var email: String? = nil
  @Attribute(.unique) var badge: Int? = nil
  @Attribute var row: Int? = nil
  @Attribute var seat: Int? = nil

  override class var entity: Entity { Entity("Guest") { Unique(\Guest.row, \Guest.seat) } }
}

private struct Example {
  let stored: String
  let elements: String
  /// The positions of the elements that are refused.
  let refused: [Int]
  /// The guests after the import.
  let guests: [String]
}

@Suite("Conflicts in imports")
struct ImportConflictTests {
  private let context: ManagedObjectContext

  init() throws {
    context = try PersistentContainer.inMemory(schema: Schema(Guest.self)).newContext()
  }

  private func upsert(
    _ text: String, _ invalidElements: ImportOptions.InvalidElements
  ) throws -> ImportReport {
    try context.upsert(Guest.self, matching: \.code, from: text) {
      $0.invalidElements = invalidElements
    }
  }

  /// The values of all guests, ordered by code.
  private var guests: [String] {
    get throws {
      context.refreshAllObjects()
      let all = try context.fetch(FetchRequest<Guest>(sort: [SortDescriptor(\.code)]))
      return all.map { guest in
        let numbers = [guest.badge, guest.row, guest.seat].map { $0.map { "\($0)" } ?? "-" }
        return ([guest.code, guest.email ?? "-"] + numbers).joined(separator: " ")
      }
    }
  }

  @Test(
    .evidence("IE-03"),
    arguments: [
      // A valid element changes the object of an invalid element.
      Example(
        stored: #"{"code": "z", "email": "t"}"#,
        elements: #"{"code": "a", "email": "t"} {"code": "a", "badge": 7}"#,
        refused: [0], guests: ["a - 7 - -", "z t - - -"]),
      // A later element gives an existing object the value of a new object.
      Example(
        stored: #"{"code": "b", "badge": 2}"#,
        elements: #"{"code": "n", "badge": 9} {"code": "b", "badge": 9}"#,
        refused: [1], guests: ["b - 2 - -", "n - 9 - -"]),
      // The second element conflicts only with the first.
      Example(
        stored: #"{"code": "a"} {"code": "b"} {"code": "z", "badge": 1}"#,
        elements: #"{"code": "a", "badge": 1, "email": "t"} {"code": "b", "email": "t"}"#,
        refused: [0], guests: ["a - - - -", "b t - - -", "z - 1 - -"]),
      // Two elements together set the values of a constraint over two attributes.
      Example(
        stored: #"{"code": "z", "row": 1, "seat": 2}"#,
        elements: #"{"code": "a", "row": 1} {"code": "a", "seat": 2} {"code": "a", "badge": 7}"#,
        refused: [1], guests: ["a - 7 1 -", "z - - 1 2"]),
    ])
  private func `refuse the later of two elements`(example: Example) throws {
    _ = try upsert(example.stored, .stop)
    let before = try guests
    let error = #expect(throws: ObjectGraphError.self) { try upsert(example.elements, .stop) }
    #expect(error?.message.hasPrefix("[\(example.refused[0])] cannot be imported") == true)
    #expect(try guests == before)
    let report = try upsert(example.elements, .skip)
    #expect(report.refusals.map(\.position) == example.refused)
    #expect(try guests == example.guests)
  }

  @Test(.evidence("IE-03"), .evidence("C-11"))
  func `refuse an element whose new object would be merged into another object`() throws {
    context.mergePolicy = .mergeByPropertyObjectTrump
    _ = try upsert(
      #"{"code": "x", "badge": 1, "row": 1} {"code": "z", "row": 1, "seat": 2}"#, .stop)
    // The first element would give the seat to the object that the second element changes.
    let report = try upsert(
      #"{"code": "n", "badge": 1, "seat": 2} {"code": "x", "email": "t"}"#, .skip)
    #expect(report.refusals.map(\.position) == [0])
    #expect(try guests == ["x t 1 1 -", "z - - 1 2"])
  }

  @Test(.evidence("IE-03"), .evidence("C-04"))
  func `refuse all elements of a chain, and no others`() throws {
    func element(_ code: Int, _ badge: Int) -> String {
      "{\"code\": \"\(code)\", \"badge\": \(badge)}\n"
    }
    _ = try upsert((10...40).map { element($0, $0) }.joined(), .stop)
    // Two guests exchange their badges. The others would take over the badge of the next guest, but
    // the last guest keeps its badge.
    let exchange = [element(10, 11), element(11, 10)]
    let chain = (12..<40).map { element($0, $0 + 1) }
    let report = try upsert((exchange + chain).joined(), .skip)
    #expect(report.refusals.map(\.position) == Array(2..<30) && report.updatedCount == 2)
    let badges = [11, 10] + Array(12...40)
    #expect(try guests == zip(10...40, badges).map { "\($0) - \($1) - -" })
  }

  @Test(.evidence("IE-03"))
  func `list the first 100 refused elements in order`() throws {
    // The last 120 elements are refused when they are decoded, and two of the first four are
    // refused later, when the group is saved.
    let pairs =
      #"{"code": "a", "badge": 1} {"code": "b", "badge": 1} "#
      + #"{"code": "c", "badge": 2} {"code": "d", "badge": 2} "#
    let invalid = Array(repeating: #"{"code": 5}"#, count: 120).joined(separator: " ")
    let report = try upsert(pairs + invalid, .skip)
    #expect(report.insertedCount == 2 && report.refusedCount == 122)
    #expect(report.refusals.map(\.position) == [1, 3] + Array(4..<102))
    #expect(try guests == ["a - 1 - -", "c - 2 - -"])
  }
}
