import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// A page that `heartwoodctl browse` has written.
struct BrowsedPage {
  let text: String

  init(_ path: String) throws {
    text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)
  }

  /// Writes a page of a store, and reads it.
  init(of store: ObjectStore, in directory: ScratchDirectory, _ arguments: String...) throws {
    let file = directory.path(of: "page.html")
    let run = try ToolRun(["browse", store.fixture.path, "--html", file] + arguments)
    run.expectFine()
    #expect(run.lines.count == 2, "\(run.output)")
    try self.init(file)
  }

  /// Writes a page of a new store with hostile names, and reads it.
  init(ofHostileModelIn directory: ScratchDirectory) throws {
    let path = directory.path(of: "\"><script>document.title = 1<")
    let container = try PersistentContainer(
      url: URL(filePath: path), schema: Schema(HostileName.self))
    let context = container.newContext()
    let object = HostileName(context: context)
    object.text = "hostile"
    object.itself = object
    try context.save()
    try container.store.close()
    let file = directory.path(of: "page.html")
    try ToolRun("browse", path, "--html", file).expectFine()
    try self.init(file)
  }

  /// Parses the JSON document of the element with the given ID.
  private func document(_ id: String) throws -> [Any] {
    let start = try #require(text.range(of: "<script type=\"application/json\" id=\"\(id)\">"))
    let end = try #require(text.range(of: "</script>", range: start.upperBound..<text.endIndex))
    let json = Data(text[start.upperBound..<end.lowerBound].utf8)
    return try #require(JSONSerialization.jsonObject(with: json) as? [Any])
  }

  /// Returns the rows of an entity, each as a dictionary keyed by column name.
  func rows(of entity: String) throws -> [[String: Any]] {
    let entities = try #require(document("model") as? [[String: Any]])
    let position = try #require(entities.firstIndex { $0["name"] as? String == entity })
    let columns = try #require(entities[position]["columns"] as? [[String: String]])
    let names = columns.compactMap { $0["name"] }
    return try #require(document("rows-\(position)") as? [[Any]]).map { row in
      #expect(row.count == names.count)
      return Dictionary(zip(names, row)) { first, _ in first }
    }
  }

  /// Opens the page in a browser, runs the body of an asynchronous function after the page's own
  /// script, and returns its result.
  func evaluate(_ body: String, at address: String = "") throws -> [String: Any] {
    let nonce = try #require(text.firstMatch(of: /<script nonce="([0-9a-f]{32})">/)).output.1
    let script = """
      (async () => {
        const section = name => [...document.querySelectorAll("section")]
          .find(section => section.querySelector("h2").firstChild.data === name);
        const cells = (name, column) => [...section(name).querySelectorAll(".objects tbody tr")]
          .map(row => row.cells[column].firstChild.textContent);
        const buttons = name => [...section(name).querySelectorAll("thead button")];
        const type = (name, query) => {
          const input = section(name).querySelector("input[type=search]");
          input.value = query;
          input.dispatchEvent(new Event("input"));
        };
        const failure = document.getElementById("failure");
        while (!document.documentElement.dataset.state && failure.hidden) {
          await new Promise(resolve => setTimeout(resolve, 10));
        }
        let result;
        try {
          result = await (async () => { \(body) })();
        } catch (error) {
          result = { error: String(error) };
        }
        result.state = document.documentElement.dataset.state ?? "";
        result.failure = failure.hidden ? "" : failure.textContent;
        const pre = document.createElement("pre");
        pre.id = "result";
        pre.textContent = encodeURIComponent(JSON.stringify(result));
        document.body.append(pre);
      })();
      """
    let page = text.replacing(
      "</body>", with: "<script nonce=\"\(nonce)\">\(script)</script></body>")
    let document = try Browser.document(of: page, address: address)
    let found = try #require(
      document.firstMatch(of: /<pre id="result">([^<]*)</), "\(document.prefix(5000))")
    let json = String(found.output.1).removingPercentEncoding ?? ""
    let result = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
    #expect(result?["state"] as? String == "complete")
    #expect(result?["failure"] as? String == "")
    #expect(result?["error"] == nil, "\(result?["error"] ?? "")")
    return try #require(result)
  }
}

/// An entity whose name could be markup.
final class HostileName: ManagedObject {
  static let name = "</title><img src=x onerror=\"document.title = 2\">'\u{202E}/%2F"

  @Attribute var text: String = ""
  @ToOne(inverse: \HostileName.selves) var itself: HostileName?
  @ToMany var selves: Set<HostileName>

  override class var entity: Entity { Entity(name) }
}

enum Browser {
  /// The path of the browser, or `nil` if none is installed.
  static let path: String? = {
    let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":")
    return ["chromium", "chromium-browser", "google-chrome"].lazy.flatMap { name in
      directories.map { "\($0)/\(name)" }
    }.first { FileManager.default.isExecutableFile(atPath: $0) }
  }()

  /// Opens a page, and returns its document as text after its scripts have run.
  static func document(of page: String, address: String = "") throws -> String {
    let directory = try ScratchDirectory()
    let file = directory.path(of: "page.html")
    try page.write(toFile: file, atomically: false, encoding: .utf8)
    let process = Process()
    process.executableURL = URL(fileURLWithPath: try #require(path))
    process.arguments = [
      "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(directory.path)/user",
      "--virtual-time-budget=10000", "--dump-dom", "file://\(file)\(address)",
    ]
    let output = Pipe()
    process.standardOutput = output
    // On a server, the browser prints warnings about missing features.
    process.standardError = FileHandle.nullDevice
    try process.start()
    let document = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return String(decoding: document, as: UTF8.self)
  }
}
