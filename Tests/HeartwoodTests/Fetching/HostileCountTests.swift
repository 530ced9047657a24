import Foundation
import Heartwood
import HeartwoodEngine
import HeartwoodTestSupport
import Testing

private final class CountedThing: ManagedObject {
  @Attribute var number: Int = 0
}

@Suite("Stores with an incorrect row count")
struct HostileCountTests {
  /// The catalog has a valid hash, but claims that there are more rows than memory could hold.
  @Test func `are fetched without reserving memory for all of them`() throws {
    let directory = try ScratchDirectory()
    let url = URL(filePath: directory.path(of: "store"))
    let container = try PersistentContainer(url: url, schema: Schema(CountedThing.self))
    let context = container.newContext()
    for number in 0..<3 { CountedThing(context: context).number = number }
    try context.save()
    let snapshot = try container.store.snapshot()
    var row = try #require(try Catalog.row("objects.1", in: snapshot.state.view))
    let encoded = Catalog.encode(row)
    row.count = Limits.maxEntryCount
    try withExtendedLifetime(snapshot) { try container.store.close() }

    let file = url.appending(path: "pages")
    var bytes = [UInt8](try Data(contentsOf: file))
    var image = StoreImage(["pages": bytes], pageByteCount: 4096)
    let start = try #require(Data(bytes).range(of: Data(encoded))).lowerBound
    bytes.replaceSubrange(start..<start + encoded.count, with: Catalog.encode(row))
    image.replace("pages", with: bytes)
    image.repairHashes()
    try Data(try #require(image.files["pages"])).write(to: file)

    let again = try PersistentContainer(url: url, schema: Schema(CountedThing.self))
    let found = try again.newContext().fetch(FetchRequest<CountedThing>())
    #expect(found.map(\.number) == [0, 1, 2])
    #expect(try again.store.verify().findings != [])
  }
}
