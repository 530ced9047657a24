import Foundation

/// A document of the project and the code blocks that it contains.
struct Document {
  struct Block {
    /// The language named after the opening fence, or an empty string if there is none.
    let language: String
    /// The line number of the opening fence, counted from 1.
    let line: Int
    var lines: [Substring] = []

    var text: String { lines.map { $0 + "\n" }.joined() }
  }

  /// The path of the document, relative to the package.
  let path: String
  let blocks: [Block]

  /// The file name without directories and extension.
  var name: Substring { path.split(separator: "/").last?.dropLast(3) ?? "" }

  /// Returns the README, the files in `Docs`, and the landing pages of the libraries.
  static func all() throws -> [Document] {
    let package = DocumentProgram.package.path
    let names = try FileManager.default.subpathsOfDirectory(atPath: package + "/Docs").sorted()
    let pages = ["Heartwood", "HeartwoodEngine"].map { "Sources/\($0)/\($0).docc/\($0).md" }
    return try (["README.md"] + names.map { "Docs/" + $0 } + pages).filter { $0.hasSuffix(".md") }
      .map { Document($0, try String(contentsOfFile: "\(package)/\($0)", encoding: .utf8)) }
  }

  private init(_ path: String, _ text: String) {
    var blocks: [Block] = []
    var isInside = false
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    for (position, line) in lines.enumerated() {
      if line.hasPrefix("```") {
        isInside.toggle()
        if isInside {
          blocks.append(Block(language: String(line.dropFirst(3)), line: position + 1))
        }
      } else if isInside {
        blocks[blocks.count - 1].lines.append(line)
      }
    }
    self.path = path
    self.blocks = blocks
  }
}
