/// The workloads on full-text search.
final class TextWorkloads {
  private let engines: [any TextEngine]
  private let directory: StoreDirectory
  private let progress: Progress
  private let seconds: Double
  private let generator = TextGenerator()
  private let count: Int
  private let places: [String]
  private lazy var documents = makeDocuments()
  private var loaded: [Int: any TextStore] = [:]
  /// The disk space of the loaded stores, as one sentence for each engine.
  private(set) var notes: [String] = []

  private static let queriesPerTurn = 20
  private static let updatesPerTurn = 10

  /// - Parameter places: Texts to use instead of generated documents. An empty array is ignored.
  init(
    _ engines: [any TextEngine], count: Int, places: [String], _ directory: StoreDirectory,
    seconds: Double, _ progress: Progress
  ) {
    self.engines = engines
    self.count = count
    self.places = places
    self.directory = directory
    self.seconds = seconds
    self.progress = progress
  }

  private func makeDocuments() -> [TextDocument] {
    guard places.isEmpty else {
      return places.map { TextDocument(title: Self.separated($0), body: "") }
    }
    return (0..<count).map { generator.document($0) }
  }

  /// Returns a place with spaces between all words and numbers, because the engines split "12km"
  /// and "Hawai'i" differently.
  private static func separated(_ place: String) -> String {
    var result = ""
    var last: Character = " "
    for character in place {
      if character.isLetter, last.isNumber { result += " " }
      result.append(character.isLetter || character.isNumber ? character : " ")
      last = character
    }
    return result
  }

  /// Measures one workload.
  func measure(_ workload: Workload) throws -> Alternation.Outcome {
    let alternation = Alternation(name: workload.rawValue, seconds: seconds, progress: progress)
    return try alternation.run(engineNames: engines.map(\.name)) { engine, round in
      try turn(workload, engine, round)
    }
  }

  private func turn(_ workload: Workload, _ engine: Int, _ round: Int) throws -> Alternation.Turn {
    if workload == .textBuild { return try build(engine) }
    let store = try loadedStore(of: engine)
    var random = RandomNumbers(seed: workload.seed + UInt64(round))
    if workload == .textUpdate {
      let all = documents
      return try Alternation.Turn(Self.updatesPerTurn) {
        for _ in 0..<Self.updatesPerTurn {
          let number = Int(random.next() % UInt64(all.count))
          let other = Int(random.next() % UInt64(all.count))
          try store.replace(number, by: all[other])
        }
        return 0
      }
    }
    let questions = (0..<Self.queriesPerTurn).map { _ in question(workload, &random) }
    let turn = try Alternation.Turn(questions.count) {
      var found: UInt64 = 0
      for question in questions { found = fold(found, UInt64(try store.top(question).count)) }
      return found
    }
    // Compare only the number of matching documents, because equally relevant documents may be in
    // any order.
    guard round == 0 else { return turn }
    let counts = try questions.reduce(turn.hash) { fold($0, UInt64(try store.count($1))) }
    return Alternation.Turn(turn.operationCount, turn.duration, hash: counts)
  }

  /// Returns a query whose words come from the documents.
  private func question(_ workload: Workload, _ random: inout RandomNumbers) -> TextQuestion {
    let all = documents
    let document = all[Int(random.next() % UInt64(all.count))]
    let words = (document.title + " " + document.body).lowercased().split { !$0.isLetter }
      .map(String.init)
    guard words.count > 1 else { return .word("of") }
    let first = Int(random.next() % UInt64(words.count - 1))
    switch workload {
    case .textBoth: return .both(words[first], words[Int(random.next() % UInt64(words.count))])
    case .textPhrase: return .phrase(words[first], words[first + 1])
    case .textPrefix: return .prefix(String(words[first].prefix(3)))
    default: return .word(words[first])
    }
  }

  private func build(_ engine: Int) throws -> Alternation.Turn {
    let all = documents
    let name = StoreDirectory.graph("new-texts-" + engines[engine].name)
    let store = try engines[engine].makeTextStore(in: directory.path + "/" + name)
    defer { try? directory.remove(name) }
    let turn = try Alternation.Turn(all.count) {
      try store.insert(all)
      return 0
    }
    try store.finish()
    return turn
  }

  private func loadedStore(of engine: Int) throws -> any TextStore {
    if let store = loaded[engine] { return store }
    let name = StoreDirectory.graph("texts-" + engines[engine].name)
    let store = try engines[engine].makeTextStore(in: directory.path + "/" + name)
    try store.insert(documents)
    try store.checkpoint()
    let space = try directory.allocatedByteCount(name)
    notes.append("text: the store of \(engines[engine].name) occupies \(space.grouped) bytes")
    loaded[engine] = store
    return store
  }

  /// Checks and removes the stores that are still open.
  func finish() throws {
    for (engine, store) in loaded {
      try store.finish()
      try directory.remove(StoreDirectory.graph("texts-" + engines[engine].name))
    }
    loaded = [:]
  }
}
