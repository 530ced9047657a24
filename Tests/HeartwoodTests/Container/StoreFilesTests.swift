import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

private final class DiaryLine: ManagedObject {
  @Attribute var text: String = ""
}

@Suite("Files of a container's store")
struct StoreFilesTests {
  private let scratch: ScratchDirectory

  init() throws { scratch = try ScratchDirectory() }

  private func url(_ name: String) -> URL { URL(filePath: scratch.path(of: name)) }

  /// Opens a store, and returns its container after adding an entry.
  private func container(_ name: String, adding text: String? = nil) throws -> PersistentContainer {
    let container = try PersistentContainer(url: url(name), schema: Schema(DiaryLine.self))
    let context = container.newContext()
    if let text { DiaryLine(context: context).text = text }
    try context.save()
    return container
  }

  private func texts(_ name: String) throws -> [String] {
    try container(name).read(at: .current) { try $0.fetch(FetchRequest<DiaryLine>()).map(\.text) }
  }

  @Test(.evidence("D18"), .evidence("D19"))
  func `a backup replaces a store that nothing uses any more`() throws {
    do {
      let container = try container("notes", adding: "old")
      try container.store.copy(container.store.snapshot(), to: scratch.path(of: "backup"))
      let context = container.newContext()
      DiaryLine(context: context).text = "new"
      try context.save()
      #expect(throws: StorageError.self) {
        try PersistentContainer.replaceStore(at: url("notes"), withStoreAt: url("backup"))
      }
      #expect(try texts("notes").count == 2)
    }
    try PersistentContainer.replaceStore(at: url("notes"), withStoreAt: url("backup"))
    #expect(try texts("notes") == ["old"])
    #expect(!FileManager.default.fileExists(atPath: url("backup").path))
  }

  @Test(.evidence("D18"), .evidence("D19"))
  func `a moved store keeps the IDs of its objects`() throws {
    var uri = URL(filePath: "/")
    do {
      let container = try container("notes", adding: "text")
      uri = try container.read(at: .current) {
        try #require(try $0.fetch(FetchRequest<DiaryLine>()).first).objectID.uriRepresentation
      }
      #expect(throws: StorageError.self) {
        try PersistentContainer.moveStore(from: url("notes"), to: url("moved"))
      }
      #expect(throws: StorageError.self) {
        try PersistentContainer.destroyStore(at: url("notes"))
      }
    }
    try PersistentContainer.moveStore(from: url("notes"), to: url("moved"))
    do {
      let moved = try container("moved")
      let id = try #require(ManagedObjectID(uriRepresentation: uri))
      #expect(try moved.newContext().existingObject(DiaryLine.self, with: id)?.text == "text")
    }
    try PersistentContainer.destroyStore(at: url("moved"))
    #expect(try texts("moved").isEmpty)
  }
}
