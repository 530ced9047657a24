/// A reader that splits JSON text into its elements.
///
/// Only one element is held in memory at a time. The text contains either an array, possibly nested
/// in the outermost object, or a sequence of values, such as JSON lines. Foundation parses the
/// elements.
package struct JSONElements {
  /// A closure that returns the next bytes of the text, or an empty array at the end of the text.
  private let read: () throws -> [UInt8]
  /// The keys on the path from the outermost object to the array.
  private let keys: [String]
  private var chunk: [UInt8] = []
  private var position = 0
  package private(set) var byteCount = 0
  private var state = State.start

  private enum State { case start, array(isFirst: Bool), sequence, ended }

  /// The maximum size of an element, in bytes.
  static let maxElementByteCount = 256 << 20

  package init(keys: [String], _ read: @escaping () throws -> [UInt8]) {
    self.keys = keys
    self.read = read
  }

  /// Returns the bytes of the next element, or `nil` if there are no more elements.
  ///
  /// - Throws: `invalidElement` if the text is not JSON of the expected form; any error from
  ///   reading the text.
  package mutating func next() throws -> [UInt8]? {
    if case .start = state { try begin() }
    switch state {
    case .start, .ended: return nil
    case .sequence:
      guard try skipSpace() != nil else {
        state = .ended
        return nil
      }
      return try value()
    case .array(let isFirst):
      if try skipSpace() == UInt8(ascii: "]") {
        take()
        try finish()
        return nil
      }
      if !isFirst {
        try expect(",")
        if try skipSpace() == UInt8(ascii: "]") {
          throw Self.invalid(
            "The array has a trailing comma.")
        }
      }
      state = .array(isFirst: false)
      return try value()
    }
  }

  static func invalid(_ message: String) -> ObjectGraphError {
    ObjectGraphError(.invalidElement, "\(message) Correct the JSON, and try again.")
  }

  /// Finds the array or the first value of the sequence.
  private mutating func begin() throws {
    if try peek() == 0xEF {
      for byte in [0xEF, 0xBB, 0xBF] as [UInt8] {
        guard try peek() == byte else { throw Self.invalid("The text is not valid UTF-8.") }
        take()
      }
    }
    for key in keys { try enter(key) }
    let first = try skipSpace()
    if first == UInt8(ascii: "[") {
      take()
      state = .array(isFirst: true)
    } else if keys.isEmpty {
      state = .sequence
    } else {
      throw Self.invalid("The value of \(keys.joined(separator: ".")) is not an array.")
    }
  }

  /// Moves to the value for the given key in the object at the current position.
  private mutating func enter(_ key: String) throws {
    guard try skipSpace() == UInt8(ascii: "{") else {
      throw Self.invalid("The key \(key) was not found, because its parent is not an object.")
    }
    take()
    var isFirst = true
    while try skipSpace() != UInt8(ascii: "}") {
      if !isFirst { try expect(",") }
      isFirst = false
      guard try skipSpace() == UInt8(ascii: "\"") else {
        throw Self.invalid("An object contains a key that is not a string.")
      }
      let found = try value()
      try expect(":")
      // Comparing the raw bytes of the key is enough, because exporters do not write escape
      // sequences in keys.
      if found.dropFirst().dropLast().elementsEqual(key.utf8) { return }
      _ = try skipSpace()
      _ = try value(isKept: false)
    }
    throw Self.invalid("The key \(key) was not found.")
  }

  /// Throws an error if anything follows the array.
  private mutating func finish() throws {
    state = .ended
    guard keys.isEmpty else { return }
    if try skipSpace() != nil { throw Self.invalid("There is unexpected text after the array.") }
  }

  // MARK: Bytes

  /// Returns the next byte without consuming it, or `nil` at the end.
  private mutating func peek() throws -> UInt8? {
    if position == chunk.count {
      chunk = try read()
      position = 0
      if chunk.isEmpty { return nil }
    }
    return chunk[position]
  }

  private mutating func take() {
    position += 1
    byteCount += 1
  }

  /// Skips white space and returns the next byte without consuming it.
  private mutating func skipSpace() throws -> UInt8? {
    while let byte = try peek() {
      guard byte == 0x20 || (0x09...0x0D).contains(byte) else { return byte }
      take()
    }
    return nil
  }

  private mutating func expect(_ character: Unicode.Scalar) throws {
    guard try skipSpace() == UInt8(ascii: character) else {
      throw Self.invalid("Expected \"\(character)\" at byte \(byteCount).")
    }
    take()
  }

  /// Consumes one value.
  ///
  /// - Returns: The bytes of the value. The result is meaningful only if `isKept` is `true`.
  private mutating func value(isKept: Bool = true) throws -> [UInt8] {
    var bytes: [UInt8] = []
    var depth = 0
    var isText = false
    var isEscaped = false
    while let byte = try peek() {
      if depth == 0, !isText, Self.endsScalar.contains(byte) { break }
      take()
      if isKept || bytes.isEmpty { bytes.append(byte) }
      if bytes.count > Self.maxElementByteCount {
        throw Self.invalid("An element is longer than \(Self.maxElementByteCount) bytes.")
      }
      if isText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isText = false
          if depth == 0 { return bytes }
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isText = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0 { return bytes }
      default: break
      }
    }
    guard depth == 0, !isText, !bytes.isEmpty else {
      throw Self.invalid("A value is missing or incomplete.")
    }
    return bytes
  }

  /// The bytes that terminate a number, `true`, `false` or `null`.
  private static let endsScalar = Set(" \t\n\r,:]}".utf8)
}
