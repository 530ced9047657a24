import Foundation

/// A Swift file, in which comments and the contents of strings are separated from the code.
struct SwiftSource: Sendable {
  let path: String
  let lines: [String]
  /// The lines of the file, with comments and the contents of strings replaced by spaces.
  let codeLines: [String]
  let tokens: [Token]

  /// A word or a punctuation mark in the code.
  struct Token: Equatable, Sendable {
    let text: String
    /// The line number, counted from 1.
    let line: Int
  }

  init(path: String, text: String) {
    self.path = path
    lines = text.components(separatedBy: "\n")
    let code = Self.blankingText(Array(text.utf8))
    codeLines = String(decoding: code, as: UTF8.self).components(separatedBy: "\n")
    tokens = Self.tokens(of: code)
  }

  var name: String { String(path.split(separator: "/").last ?? "") }

  /// Returns the Swift files of the package or of one of its directories, sorted by path.
  static func all(under directory: String = "") throws -> [SwiftSource] {
    try parsed.get().filter { $0.path.hasPrefix(directory) }
  }

  /// All Swift files, which are parsed only once for all tests.
  ///
  /// The contract sources are left out, because they must not be changed.
  private static let parsed = Result {
    try Package.files(under: ["Sources", "Tests", "Benchmarks"], ending: ".swift")
      .filter { !$0.hasPrefix("Tests/Contract/") }
      .map { SwiftSource(path: $0, text: try Package.text(of: $0)) }
  }

  // MARK: Replacing comments and strings

  /// The state of the lexer.
  private enum Context: Equatable {
    case code
    /// An interpolation, which is code within a string that ends when its parentheses are closed.
    case interpolation(open: Int)
    case string(hashes: Int, isMultiline: Bool)
    case lineComment
    case blockComment(depth: Int)
  }

  /// Replaces comments and the contents of strings by spaces, but keeps line breaks.
  private static func blankingText(_ bytes: [UInt8]) -> [UInt8] {
    var result = bytes
    var contexts: [Context] = [.code]
    var position = 0
    while position < bytes.count {
      var length = plainLength(bytes, position)
      switch contexts[contexts.count - 1] {
      case .code, .interpolation:
        if length == 0 { length = stepInCode(bytes, position, &contexts, &result) }
      case .string(let hashes, let isMultiline):
        if length == 0 { length = stepInString(bytes, position, hashes, isMultiline, &contexts) }
        blank(&result, position, length)
      case .lineComment:
        length = max(length, 1)
        if bytes[position] == newline { contexts.removeLast() }
        blank(&result, position, length)
      case .blockComment(let depth):
        if length == 0 { length = stepInBlockComment(bytes, position, depth, &contexts) }
        blank(&result, position, length)
      }
      position += length
    }
    return result
  }

  private static let newline = UInt8(ascii: "\n")
  private static let quote = UInt8(ascii: "\"")
  private static let hash = UInt8(ascii: "#")

  /// For each byte, `true` if it never begins or ends a comment, a string or an interpolation.
  private static let isPlain: [Bool] = (0...UInt8.max).map { byte in
    !"\n\"#/*\\`()".utf8.contains(byte)
  }

  /// Returns the number of plain bytes from a position to the next byte that is not plain.
  private static func plainLength(_ bytes: [UInt8], _ start: Int) -> Int {
    let isPlain = isPlain
    var end = start
    while end < bytes.count, isPlain[Int(bytes[end])] { end += 1 }
    return end - start
  }

  private static func blank(_ bytes: inout [UInt8], _ start: Int, _ count: Int) {
    for position in start..<min(start + count, bytes.count) where bytes[position] != newline {
      bytes[position] = UInt8(ascii: " ")
    }
  }

  private static func stepInCode(
    _ bytes: [UInt8], _ position: Int, _ contexts: inout [Context], _ result: inout [UInt8]
  ) -> Int {
    if starts(bytes, position, "//") {
      contexts.append(.lineComment)
      return 0
    }
    if starts(bytes, position, "/*") {
      contexts.append(.blockComment(depth: 0))
      return 0
    }
    if let end = endOfRawName(bytes, position) { return end - position }
    let hashes = bytes[position...].prefix { $0 == hash }.count
    if position + hashes < bytes.count, bytes[position + hashes] == quote {
      let isMultiline = starts(bytes, position + hashes, "\"\"\"")
      contexts.append(.string(hashes: hashes, isMultiline: isMultiline))
      let length = hashes + (isMultiline ? 3 : 1)
      blank(&result, position, length)
      return length
    }
    if case .interpolation(let open) = contexts[contexts.count - 1] {
      let change =
        bytes[position] == UInt8(ascii: "(") ? 1 : bytes[position] == UInt8(ascii: ")") ? -1 : 0
      contexts[contexts.count - 1] = .interpolation(open: open + change)
      if open + change == 0 { contexts.removeLast() }
    }
    return 1
  }

  private static func stepInString(
    _ bytes: [UInt8], _ position: Int, _ hashes: Int, _ isMultiline: Bool,
    _ contexts: inout [Context]
  ) -> Int {
    let marks = String(repeating: "#", count: hashes)
    if starts(bytes, position, "\\" + marks + "(") {
      contexts.append(.interpolation(open: 1))
      return 2 + hashes
    }
    if starts(bytes, position, "\\" + marks) { return 2 + hashes }
    let end = (isMultiline ? "\"\"\"" : "\"") + marks
    if starts(bytes, position, end) || (!isMultiline && bytes[position] == newline) {
      contexts.removeLast()
      return bytes[position] == newline ? 1 : end.utf8.count
    }
    return 1
  }

  private static func stepInBlockComment(
    _ bytes: [UInt8], _ position: Int, _ depth: Int, _ contexts: inout [Context]
  ) -> Int {
    if starts(bytes, position, "/*") {
      contexts[contexts.count - 1] = .blockComment(depth: depth + 1)
      return 2
    }
    if starts(bytes, position, "*/") {
      contexts.removeLast()
      if depth > 1 { contexts.append(.blockComment(depth: depth - 1)) }
      return 2
    }
    return 1
  }

  /// Returns the position after a name in backticks, which may contain any words and punctuation
  /// marks.
  private static func endOfRawName(_ bytes: [UInt8], _ position: Int) -> Int? {
    guard bytes[position] == UInt8(ascii: "`") else { return nil }
    let rest = bytes[(position + 1)...]
    guard let end = rest.firstIndex(where: { $0 == UInt8(ascii: "`") || $0 == newline }) else {
      return nil
    }
    return end + 1
  }

  private static func starts(_ bytes: [UInt8], _ position: Int, _ text: String) -> Bool {
    bytes[position...].starts(with: text.utf8)
  }

  // MARK: Tokens

  private static func tokens(of code: [UInt8]) -> [Token] {
    var tokens: [Token] = []
    var line = 1
    var position = 0
    while position < code.count {
      var end = position
      while end < code.count, isWordPart(code[end]) { end += 1 }
      if end == position, let rawEnd = endOfRawName(code, position) { end = rawEnd }
      if end == position {
        if code[position] == newline { line += 1 }
        if code[position] > 32 {
          tokens.append(Token(text: String(decoding: [code[position]], as: UTF8.self), line: line))
        }
        position += 1
      } else {
        tokens.append(
          Token(text: String(decoding: code[position..<end], as: UTF8.self), line: line))
        position = end
      }
    }
    return tokens
  }

  static func isWordPart(_ byte: UInt8) -> Bool {
    byte >= 128 || byte == UInt8(ascii: "_")
      || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"))
      || (byte | 32 >= UInt8(ascii: "a") && byte | 32 <= UInt8(ascii: "z"))
  }
}
