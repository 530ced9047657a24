import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

final class Memo: ManagedObject {
  @Attribute var text: String = ""
  @Attribute var rank: Int = 0
  @ToMany(inverse: \Remark.memo, deleteRule: .cascade) var remarks: Set<Remark>

  override class var entity: Entity {
    Entity("Memo") {
      Unique(\Memo.text)
      Index(\Memo.rank)
    }
  }
}

final class Remark: ManagedObject {
  @Attribute var text: String = ""
  @ToOne var memo: Memo?
}

final class Stamp: ManagedObject {
  @Attribute var code: Int = 0
}

/// A container with three stores for people, memos and stamps.
///
/// The stores that are present at the end of the test are verified.
final class StoresFixture: ContextKeeper {
  enum Kind: CaseIterable { case inMemory, inFiles }

  let scratch: ScratchDirectory
  let container: PersistentContainer
  private let isInMemory: Bool
  var contexts: [ManagedObjectContext] = []

  var memos: URL { url("memos") }
  var stamps: URL { url("stamps") }

  init(_ kind: Kind = .inMemory, adds: Bool = true) throws {
    scratch = try ScratchDirectory()
    isInMemory = kind == .inMemory
    var options = ContainerOptions()
    options.isInMemory = isInMemory
    container = try PersistentContainer(
      url: URL(filePath: scratch.path(of: "people")), schema: people, options: options)
    guard adds else { return }
    try addMemos()
    try container.addStore(url: stamps, entities: [Stamp.self])
  }

  deinit {
    LiveObjects.track(container, contexts)
    for store in container.stores {
      do {
        let findings = try store.verify().findings
        #expect(findings == [])
      } catch {
        Issue.record(error)
      }
    }
  }

  func url(_ name: String) -> URL { URL(filePath: scratch.path(of: name)) }

  func addMemos() throws {
    try container.addStore(url: memos, entities: [Memo.self, Remark.self])
  }

  func letGo() { contexts = [] }

  @discardableResult
  func memo(_ text: String, rank: Int = 0, remarks: Int = 0) throws -> ManagedObjectID {
    let context = context()
    let memo = Memo(context: context)
    memo.text = text
    memo.rank = rank
    for number in 0..<remarks {
      let remark = Remark(context: context)
      remark.text = "\(text) \(number)"
      remark.memo = memo
    }
    try context.save()
    return memo.objectID
  }

  func change(_ id: ManagedObjectID, _ body: (Memo) -> Void) throws {
    let context = context()
    body(try #require(try context.existingObject(Memo.self, with: id)))
    try context.save()
  }

  /// Returns the sorted content of all stores: people, memos and stamps.
  func stored() throws -> [String] { try context().contents() }
}

extension ManagedObjectContext {
  /// Returns the people, memos and stamps that this context finds, as sorted strings.
  func contents() throws -> [String] {
    let people = try fetch(FetchRequest<Person>()).map { "\($0.name) \($0.age)" }
    let memos = try fetch(FetchRequest<Memo>()).map { "\($0.text) \($0.rank)" }
    let stamps = try fetch(FetchRequest<Stamp>()).map { "\($0.code)" }
    return (people + memos + stamps).sorted()
  }
}

/// Expects `body` to throw an error of the given kind, with a message that contains all `words`.
func expect(
  _ kind: ObjectGraphError.Kind, _ words: String..., location: SourceLocation = #_sourceLocation,
  from body: () throws -> Void
) {
  let error = #expect(throws: ObjectGraphError.self, sourceLocation: location, performing: body)
  #expect(error?.kind == kind, sourceLocation: location)
  for word in words {
    #expect(
      error?.message.contains(word) == true, "\(word) in \(error?.message ?? "")",
      sourceLocation: location)
  }
}
