import HeartwoodEngine

/// All rows and keys of a run, created before the first measurement.
///
/// The randomly ordered arrays are stored in the order in which the measured loops read them, so
/// that the store, not the benchmark, causes cache misses.
struct QuakeRows: Sendable {
  /// A key of the `codes` keyspace, with the number of its row.
  struct CodeKey: Sendable {
    let code: String
    let number: Int64
  }

  /// The bytes of all rows, in ascending order of the row numbers.
  let block: [UInt8]
  /// All row numbers, in random order.
  let shuffledNumbers: [Int64]
  /// All codes, in a different random order.
  let shuffledCodes: [CodeKey]
  /// A description of the origin of the rows, for the report.
  let origin: String

  var count: Int { shuffledNumbers.count }

  /// The total size of the keys and values in both keyspaces, in bytes.
  var byteCount: Int { count * (QuakeRow.byteCount * 2 + 8 + QuakeRow.code.count) }

  /// Creates `count` rows with ``QuakeGenerator``.
  init(generated count: Int, progress: Progress) {
    var generator = QuakeGenerator()
    self.init(count: count, origin: "generated quakes", progress: progress) { _ in
      generator.next()
    }
  }

  /// Creates rows from a feed, which is repeated with new row numbers until there are `count` rows.
  init(feed quakes: [Quake], path: String, count: Int, progress: Progress) {
    let origin =
      switch count {
      case quakes.count: "all features of \(path)"
      case ..<quakes.count: "the first part of the \(quakes.count.grouped) features of \(path)"
      default: "the \(quakes.count.grouped) features of \(path), repeated with distinct keys"
      }
    self.init(count: count, origin: origin, progress: progress) { quakes[$0 % quakes.count] }
  }

  private init(
    count: Int, origin: String, progress: Progress, quake: (_ number: Int) -> Quake
  ) {
    var block: [UInt8] = []
    block.reserveCapacity(count * QuakeRow.byteCount)
    for number in 0..<count {
      QuakeRow.append(quake(number), number: Int64(number), to: &block)
      if number % 10_000 == 0 {
        progress.show("preparing rows", fraction: Double(number) / Double(count))
      }
    }
    var random = RandomNumbers(seed: 1)
    let numbers = (0..<Int64(count)).shuffled(using: &random)
    self.block = block
    self.origin = origin
    shuffledNumbers = numbers
    shuffledCodes = numbers.shuffled(using: &random).map { number in
      CodeKey(code: Self.code(of: number, in: block), number: number)
    }
  }

  /// Returns the rows in ascending order of their numbers, for a bulk load.
  func sortedByNumber() -> [(Key, [UInt8])] {
    (0..<Int64(count)).map { (Key($0), row($0)) }
  }

  /// Returns the rows in ascending order of their codes, for a bulk load.
  func sortedByCode() -> [(Key, [UInt8])] {
    sortedCodes().map { (Key($0.code), row($0.number)) }
  }

  /// Returns all codes in ascending order.
  func sortedCodes() -> [CodeKey] {
    let numbers = (0..<Int64(count)).sorted { codeWords($0) < codeWords($1) }
    return numbers.map { CodeKey(code: Self.code(of: $0, in: block), number: $0) }
  }

  /// Returns the rows in the order of `shuffledNumbers`.
  func shuffledBlock() -> [UInt8] {
    var shuffled: [UInt8] = []
    shuffled.reserveCapacity(block.count)
    for number in shuffledNumbers {
      shuffled.append(contentsOf: block[byteRange(number)])
    }
    return shuffled
  }

  /// Returns the bytes of a row.
  func row(_ number: Int64) -> [UInt8] {
    Array(block[byteRange(number)])
  }

  /// Returns the time of the quake in a row.
  func time(of number: Int64) -> UInt64 {
    block.span.bytes.word(at: byteRange(number).lowerBound + QuakeRow.time)
  }

  /// Returns the quake in a row.
  ///
  /// The quake has the row's unique code, and 0 for values that the feed does not contain.
  func quake(_ number: Int64) -> Quake {
    let row = row(number)
    let bytes = row.span.bytes
    func float(at offset: Int) -> Float {
      let value = Float(bitPattern: UInt32(truncatingIfNeeded: bytes.word(at: offset)))
      return value.isNaN ? 0 : value
    }
    let place = QuakeRow.place.prefix(Int(row[QuakeRow.placeByteCount]))
    return Quake(
      code: String(decoding: row[QuakeRow.code], as: UTF8.self),
      magnitude: float(at: QuakeRow.magnitude), place: String(decoding: row[place], as: UTF8.self),
      time: Int64(bitPattern: bytes.word(at: QuakeRow.time)),
      longitude: float(at: QuakeRow.longitude), latitude: float(at: QuakeRow.latitude),
      depth: float(at: QuakeRow.depth))
  }

  /// Returns the range of a row in `block`.
  func byteRange(_ number: Int64) -> Range<Int> {
    let start = Int(number) * QuakeRow.byteCount
    return start..<start + QuakeRow.byteCount
  }

  /// Returns the code of a row as two numbers, which sort like the bytes of the code.
  private func codeWords(_ number: Int64) -> (UInt64, UInt64) {
    let start = Int(number) * QuakeRow.byteCount + QuakeRow.code.lowerBound
    let bytes = block.span.bytes
    return (bytes.word(at: start).byteSwapped, bytes.word(at: start + 8).byteSwapped)
  }

  private static func code(of number: Int64, in block: [UInt8]) -> String {
    let start = Int(number) * QuakeRow.byteCount
    let range = start + QuakeRow.code.lowerBound..<start + QuakeRow.code.upperBound
    return String(decoding: block[range], as: UTF8.self)
  }
}
