import Testing

@Suite("The sources")
struct SourceTests {
  private static let engine = "Sources/HeartwoodEngine/"

  /// The files outside `Files/` and `Foundations/Bytes*.swift` that may handle raw memory, because
  /// they own it or because their hot paths follow pointers into it.
  private static let rawMemoryFiles: Set<String> = [
    "States/GenerationState.swift",
    "States/PageIndex.swift",
    "States/PageView.swift",
    "Sharing/SharedCounters.swift",
    "Writing/WorkingPages.swift",
    "States/WorkingTable.swift",
    "Keyspaces/LocatedValue.swift",
    "Log/Segment.swift",
    "Pages/PageRegion.swift",
  ]

  /// The files whose code is compiled into its callers.
  ///
  /// These files call a closure for each record, or contain the code that reads properties.
  private static let inlinedFiles: Set<String> = [
    "Sources/HeartwoodEngine/Keyspaces/KeyspaceReader+Keys.swift",
    "Sources/HeartwoodEngine/Keyspaces/LocatedValue.swift",
    "Sources/HeartwoodEngine/Keyspaces/LookupKey.swift",
    "Sources/HeartwoodEngine/Transactions/KeyspaceWriter+Keys.swift",
    "Sources/HeartwoodEngine/Transactions/KeyspaceWriter+Loading.swift",
    "Sources/HeartwoodEngine/Transactions/KeyspaceWriter+Streaming.swift",
    "Sources/Heartwood/Objects/Attribute.swift", "Sources/Heartwood/Objects/Composite.swift",
    "Sources/Heartwood/Objects/ObjectMemory.swift",
    "Sources/Heartwood/Objects/OrderedToMany.swift",
    "Sources/Heartwood/Objects/ToMany.swift",
    "Sources/Heartwood/Objects/ToOne.swift",
    "Sources/Heartwood/Objects/Transient.swift",
    "Sources/Heartwood/Values/AttributeValue.swift",
    "Sources/Heartwood/Values/Placeholders.swift",
  ]

  private static let bannedNameParts: Set<String> = [
    "Manager", "Helper", "Util", "Utils", "Common", "Base", "Impl", "Data", "Info", "Handler",
  ]

  // The words are split so that this file does not break the rule itself.
  private static let bannedMarks = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]

  @Test func `have at most 400 lines per file`() throws {
    for source in try SwiftSource.all() {
      // Each file ends with a line break, so its last line is empty and is not counted.
      #expect(source.lines.count - 1 <= 400, "\(source.path)")
    }
  }

  @Test func `have at most 70 lines per function`() throws {
    for source in try SwiftSource.all() {
      for function in source.declarations where function.kind == .function {
        #expect(
          function.lineCount <= 70, "\(source.path):\(function.line) \(function.name)")
      }
    }
  }

  @Test func `have at most 100 columns per line`() throws {
    for source in try SwiftSource.all() {
      for (position, line) in source.lines.enumerated() where line.utf8.count > 100 {
        #expect(line.count <= 100, "\(source.path):\(position + 1)")
      }
    }
  }

  @Test func `import the C library only in the directory of the operating system`() throws {
    for source in try SwiftSource.all(under: Self.engine)
    where !source.path.hasPrefix(Self.engine + "Files/") {
      for module in ["Glibc", "Musl", "Darwin", "Foundation"] {
        #expect(!source.imports.contains(module), "\(source.path) imports \(module)")
      }
    }
  }

  @Test func `do not import Foundation in the engine`() throws {
    for source in try SwiftSource.all(under: Self.engine) {
      for module in source.imports {
        #expect(!module.hasPrefix("Foundation"), "\(source.path) imports \(module)")
      }
    }
  }

  @Test func `handle raw memory only in the named files`() throws {
    var found: Set<String> = []
    for source in try SwiftSource.all(under: Self.engine) {
      let path = String(source.path.dropFirst(Self.engine.count))
      if path.hasPrefix("Files/") || path.hasPrefix("Foundations/Bytes") { continue }
      guard let use = source.tokens.first(where: { $0.text.contains("Unsafe") }) else { continue }
      found.insert(path)
      #expect(Self.rawMemoryFiles.contains(path), "\(source.path):\(use.line) \(use.text)")
    }
    #expect(Self.rawMemoryFiles.subtracting(found).sorted() == [], "named without need")
  }

  @Test func `handle the memory of objects and records only in the named files`() throws {
    let named: Set<String> = [
      "Contexts/ManagedObjectContext+Relationships.swift",
      "Objects/Attribute.swift", "Objects/ClassLayout.swift", "Objects/MemberDifference.swift",
      "Objects/MemberMemory.swift", "Objects/ObjectFiller.swift",
      "Queries/TextPattern.swift",
      "Objects/ObjectMemory.swift", "Objects/OrderedToMany.swift", "Objects/ToMany.swift",
      "Objects/ToOne.swift", "Model/PropertyStorage.swift", "Records/RecordView.swift",
      "Records/StoredBytes.swift",
      "Values/FoundationValues.swift",
    ]
    let module = "Sources/Heartwood/"
    for source in try SwiftSource.all(under: module) {
      guard let use = source.tokens.first(where: { $0.text.contains("Unsafe") }) else { continue }
      let path = String(source.path.dropFirst(module.count))
      #expect(named.contains(path), "\(source.path):\(use.line) \(use.text)")
    }
  }

  @Test func `handle raw memory only in the named files of the benchmark`() throws {
    // These files handle the bytes of rows, or libraries that are loaded at run time.
    let named: Set<String> = [
      "Benchmarks/Data/Quake.swift", "Benchmarks/Peers/DynamicLibrary.swift",
      "Benchmarks/Peers/LMDBEntries.swift", "Benchmarks/Peers/LMDBLibrary.swift",
      "Benchmarks/Peers/RocksDBDatabase.swift", "Benchmarks/Peers/RocksDBLibrary.swift",
      "Benchmarks/Peers/SQLiteLibrary.swift",
    ]
    for source in try SwiftSource.all(under: "Benchmarks/") {
      let words = source.tokens.filter { $0.text.contains("Unsafe") || $0.text == "dlsym" }
      #expect(words.isEmpty || named.contains(source.path), "\(source.path) \(words)")
    }
  }

  @Test func `inline code into callers only in the named files`() throws {
    for source in try SwiftSource.all(under: "Sources/")
    where !Self.inlinedFiles.contains(source.path) {
      let use = source.tokens.first { $0.text == "inlinable" }
      #expect(use == nil, "\(source.path):\(use?.line ?? 0)")
    }
  }

  @Test func `run exit tests on the thread for exit tests`() throws {
    // The words are split so that the test does not mistake this file for a file with exit tests.
    let (exitTest, trait) = ("processExits" + "With", ".spawn" + "ing")
    for source in try SwiftSource.all(under: "Tests/") {
      guard source.lines.contains(where: { $0.contains(exitTest) }) else { continue }
      #expect(source.lines.contains { $0.contains(trait) }, "\(source.path)")
    }
  }

  @Test func `contain no reminders of unfinished work`() throws {
    for source in try SwiftSource.all() {
      for (position, line) in source.lines.enumerated() {
        for mark in Self.bannedMarks where line.contains(mark) {
          #expect(!Self.words(of: line).contains(mark), "\(source.path):\(position + 1) \(mark)")
        }
      }
    }
  }

  private static func words(of line: String) -> [String] {
    line.split { !$0.isLetter && !$0.isNumber }.map(String.init)
  }

  @Test func `give no type a meaningless name`() throws {
    // The stand-ins have Apple's names.
    for source in try SwiftSource.all() where !source.path.contains("/StandIns/") {
      for type in source.declarations where type.kind == .type {
        let banned = Self.nameParts(of: type.name).filter(Self.bannedNameParts.contains)
        #expect(banned == [], "\(source.path):\(type.line) \(type.name)")
      }
    }
  }

  /// Returns the parts of a name; each part begins with a capital letter.
  private static func nameParts(of name: String) -> [String] {
    var parts: [String] = []
    for letter in name {
      if letter.isUppercase || parts.isEmpty { parts.append("") }
      parts[parts.count - 1].append(letter)
    }
    return parts
  }

  @Test func `justify every unchecked promise to the compiler`() throws {
    for source in try SwiftSource.all() {
      for (position, token) in source.tokens.enumerated()
      where token.text == "unchecked" && position > 0 && source.tokens[position - 1].text == "@" {
        // The reason must be given in the documentation comment above the declaration, or directly
        // after the opening brace.
        let nearby = source.lines[max(token.line - 16, 0)..<min(token.line + 4, source.lines.count)]
        let text = nearby.compactMap { line in
          line.firstRange(of: "//").map { line[$0.upperBound...] }
        }.joined(separator: " ")
        let isArgued = text.contains("@unchecked") && text.contains("because")
        #expect(isArgued, "\(source.path):\(token.line)")
      }
    }
  }
}

extension SwiftSource {
  /// The modules that this source imports.
  var imports: [String] {
    zip(tokens, tokens.dropFirst()).filter { $0.0.text == "import" }.map(\.1.text)
  }
}
