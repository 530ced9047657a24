import HeartwoodEngine

/// Every row and key of a run, made before the first clock starts.
///
/// The random orders are laid out in memory the way the measured loops walk through them, so that
/// the loops wait for the store's cache misses and not for the benchmark's own.
struct QuakeRows: Sendable {
  /// A key of the `codes` keyspace, and the row it must lead to.
  struct CodeKey: Sendable {
    let code: String
    let number: Int64
  }

  /// All rows one after the other, by row number.
  let block: [UInt8]
  /// Every row number once, in random order.
  let shuffledNumbers: [Int64]
  /// Every code once, in another random order.
  let shuffledCodes: [CodeKey]
  /// Where the rows come from, as a phrase for the result.
  let origin: String

  var count: Int { shuffledNumbers.count }

  /// Bytes of keys and values in both keyspaces.
  var byteCount: Int { count * (QuakeRow.byteCount * 2 + 8 + QuakeRow.code.count) }

  /// Rows made up by ``QuakeGenerator``.
  init(generated count: Int, progress: Progress) {
    var generator = QuakeGenerator()
    self.init(count: count, origin: "generated quakes", progress: progress) { _ in
      generator.next()
    }
  }

  /// The quakes of a feed, repeated under new row numbers until there are `count`.
  init(feed quakes: [Quake], path: String, count: Int, progress: Progress) {
    let origin =
      switch count {
      case quakes.count: "all features of \(path)"
      case ..<quakes.count: "the first of \(quakes.count.grouped) features of \(path)"
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

  /// The rows by ascending number, as a bulk load takes them.
  func sortedByNumber() -> [(Key, [UInt8])] {
    (0..<Int64(count)).map { (Key($0), row($0)) }
  }

  /// The rows by ascending code, as a bulk load takes them.
  func sortedByCode() -> [(Key, [UInt8])] {
    sortedCodes().map { (Key($0.code), row($0.number)) }
  }

  /// Every code once, ascending.
  func sortedCodes() -> [CodeKey] {
    let numbers = (0..<Int64(count)).sorted { codeWords($0) < codeWords($1) }
    return numbers.map { CodeKey(code: Self.code(of: $0, in: block), number: $0) }
  }

  /// The rows in the order of `shuffledNumbers`, one after the other.
  func shuffledBlock() -> [UInt8] {
    var shuffled: [UInt8] = []
    shuffled.reserveCapacity(block.count)
    for number in shuffledNumbers {
      shuffled.append(contentsOf: block[byteRange(number)])
    }
    return shuffled
  }

  /// One row.
  func row(_ number: Int64) -> [UInt8] {
    Array(block[byteRange(number)])
  }

  /// The time of a row.
  func time(of number: Int64) -> UInt64 {
    block.span.bytes.word(at: byteRange(number).lowerBound + QuakeRow.time)
  }

  /// The quake of a row, with the code that no other row has, and 0 for what a feed does not know.
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

  /// Where a row lies in `block`.
  func byteRange(_ number: Int64) -> Range<Int> {
    let start = Int(number) * QuakeRow.byteCount
    return start..<start + QuakeRow.byteCount
  }

  /// The code of a row as two numbers that compare like its bytes.
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
