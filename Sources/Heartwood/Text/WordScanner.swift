import Foundation

/// The options for the word tokenizer.
struct WordScanner: Sendable {
  /// The version of the scanning rules.
  ///
  /// When the version changes, existing indexes are rebuilt.
  static let version = 2

  let stemming: TextTokenizer.Stemming
  let ignoresCase: Bool
  let ignoresDiacritics: Bool
}

/// A linear-time scan of a string for words.
struct WordScan {
  private let options: WordScanner
  private let source: [UInt8]
  private let isEnglish: Bool
  private var stemmer = PorterStemmer()

  /// The maximum length, in bytes, of a non-ASCII word before normalisation.
  ///
  /// This length exceeds the maximum length of a term, because normalisation shortens accented
  /// letters and drops invisible characters.
  private static let maxWordByteCount = 4 * TextTokens.maxTermByteCount

  init(_ options: WordScanner, _ text: String) {
    self.options = options
    source = Array(text.utf8)
    isEnglish = options.stemming == .english
  }

  mutating func scan(into tokens: inout TextTokens) {
    var position = 0
    while position < source.count {
      let (kind, end) = character(at: position)
      switch kind {
      case .letter, .hebrew, .digit, .joiner:
        guard let next = word(from: position, into: &tokens) else { return }
        position = next
      case .paired:
        guard let next = pairs(from: position, into: &tokens) else { return }
        position = next
      default: position = end
      }
    }
  }

  // MARK: Characters

  /// Returns the class of the character at an offset, and the offset of the next character.
  @inline(__always)
  private func character(at position: Int) -> (CharacterClass, Int) {
    let byte = source[position]
    if byte < 0x80 { return (CharacterClass(ascii: byte), position + 1) }
    let (scalar, end) = scalar(at: position)
    return (CharacterClass(scalar), end)
  }

  /// Decodes the character at an offset.
  ///
  /// Decoding cannot fail, because strings contain only valid UTF-8.
  private func scalar(at position: Int) -> (Unicode.Scalar, Int) {
    let first = source[position]
    let count = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    var value = UInt32(first) & (0x7F >> UInt32(count))
    for offset in 1..<count { value = value << 6 | UInt32(source[position + offset] & 0x3F) }
    return (Unicode.Scalar(value) ?? "\u{FFFD}", position + count)
  }

  // MARK: Words

  /// Appends the word that begins at an offset.
  ///
  /// - Returns: The offset of the end of the word, or `nil` if no more words may be added.
  private mutating func word(from start: Int, into tokens: inout TextTokens) -> Int? {
    var end = start
    var last = CharacterClass.other
    var isASCII = true
    var hasContent = false
    var isNumber = true
    characters: while end < source.count {
      let (kind, next) = character(at: end)
      if source[end] >= 0x80 { isASCII = false }
      switch kind {
      case .letter, .hebrew:
        // Separate a number from the unit that follows it. For example, treat "4km" as two words.
        if isNumber, hasContent { break characters }
        (last, isNumber, hasContent) = (kind, false, true)
      case .digit: (last, hasContent) = (kind, true)
      case .joiner: (last, isNumber) = (kind, false)
      case .mark: break
      case .midLetter, .midNumber, .midBoth, .quote:
        guard isWithinWord(kind, after: last, before: next) else { break characters }
      case .other, .paired: break characters
      }
      end = next
    }
    guard hasContent else { return max(end, start + 1) }
    let begin = tokens.bytes.count
    if isASCII {
      appendASCII(start..<end, to: &tokens.bytes)
    } else {
      append(start..<end, to: &tokens.bytes, ignoresDiacritics: options.ignoresDiacritics)
    }
    if isEnglish { stemmer.stem(&tokens.bytes, from: begin) }
    return tokens.end(begin, start..<end) ? end : nil
  }

  /// Returns whether punctuation is part of the surrounding word.
  ///
  /// - Parameters:
  ///   - kind: The class of the punctuation.
  ///   - last: The class of the letter or digit before the punctuation.
  ///   - next: The offset of the character after the punctuation.
  private func isWithinWord(
    _ kind: CharacterClass, after last: CharacterClass, before next: Int
  ) -> Bool {
    var position = next
    while position < source.count {
      let (following, end) = character(at: position)
      switch following {
      case .mark: position = end
      case .letter, .hebrew:
        if kind == .quote { return last == .hebrew && following == .hebrew }
        return kind != .midNumber && (last == .letter || last == .hebrew)
      case .digit: return last == .digit && (kind == .midNumber || kind == .midBoth)
      default: return false
      }
    }
    return false
  }

  private func appendASCII(_ range: Range<Int>, to bytes: inout [UInt8]) {
    // Append one byte beyond the maximum, to show that the word must be truncated.
    for position in range.prefix(TextTokens.maxTermByteCount + 1) {
      let byte = source[position]
      let isUpper = options.ignoresCase && byte >= 0x41 && byte <= 0x5A
      bytes.append(isUpper ? byte | 0x20 : byte)
    }
  }

  /// Appends the normalised form of a word.
  private func append(
    _ range: Range<Int>, to bytes: inout [UInt8], ignoresDiacritics: Bool
  ) {
    var end = range.upperBound
    if range.count > Self.maxWordByteCount {
      end = range.lowerBound + Self.maxWordByteCount
      while source[end] & 0xC0 == 0x80 { end -= 1 }
    }
    let word = String(decoding: source[range.lowerBound..<end], as: UTF8.self)
    let normalised =
      ignoresDiacritics
      ? word.decomposedStringWithCompatibilityMapping
      : word.precomposedStringWithCompatibilityMapping
    for scalar in normalised.unicodeScalars {
      switch scalar.value {
      // Skip a space, because normalisation turns a narrow no-break space within a number into
      // U+0020.
      case 0x20: continue
      case 0..<0x80:
        let isUpper = options.ignoresCase && (0x41...0x5A).contains(scalar.value)
        bytes.append(UInt8(scalar.value) | (isUpper ? 0x20 : 0))
      case 0x2018, 0x2019, 0x5F3: bytes.append(UInt8(ascii: "'"))
      case 0x5F4: bytes.append(UInt8(ascii: "\""))
      default:
        switch scalar.properties.generalCategory {
        case .format: continue
        case .nonspacingMark where ignoresDiacritics && Self.isDiacritic(scalar): continue
        default: break
        }
        if options.ignoresCase {
          bytes.append(contentsOf: Self.folded(scalar).utf8)
        } else {
          bytes.append(contentsOf: String(scalar).utf8)
        }
      }
    }
  }

  /// Returns whether a mark is a diacritic.
  ///
  /// A mark can also be a vowel sign, as in Devanagari, or another part of a letter.
  ///
  /// Unicode assigns diacritics to specific combining classes: 10 to 36 for Hebrew and Arabic
  /// points, and 200 or more for accents.
  private static func isDiacritic(_ scalar: Unicode.Scalar) -> Bool {
    let combiningClass = scalar.properties.canonicalCombiningClass.rawValue
    return combiningClass >= 200 || (10...36).contains(combiningClass)
      || scalar.properties.isDefaultIgnorableCodePoint
  }

  private static func folded(_ scalar: Unicode.Scalar) -> String {
    switch scalar {
    case "ß", "ẞ": "ss"
    case "ς": "σ"
    default: scalar.properties.lowercaseMapping
    }
  }

  // MARK: Pairs

  /// Appends the pairs of adjacent characters in a run.
  ///
  /// - Returns: The offset of the end of the run, or `nil` if no more words may be added.
  private mutating func pairs(from start: Int, into tokens: inout TextTokens) -> Int? {
    var (unitStart, unitEnd) = (start, unit(from: start))
    var isLast: Bool
    repeat {
      isLast = unitEnd == source.count || character(at: unitEnd).0 != .paired
      let nextEnd = isLast ? unitEnd : unit(from: unitEnd)
      let begin = tokens.bytes.count
      if isNormalised(unitStart..<unitEnd), isLast || isNormalised(unitEnd..<nextEnd) {
        tokens.bytes.append(contentsOf: source[unitStart..<nextEnd])
      } else {
        append(unitStart..<nextEnd, to: &tokens.bytes, ignoresDiacritics: false)
      }
      guard tokens.end(begin, unitStart..<nextEnd, isTail: isLast) else { return nil }
      (unitStart, unitEnd) = (unitEnd, nextEnd)
    } while !isLast
    return unitEnd
  }

  /// Returns whether a character is known to equal its normalised form.
  ///
  /// The result is `true` only for common characters without marks.
  private func isNormalised(_ unit: Range<Int>) -> Bool {
    guard unit.count == 3 else { return false }
    switch scalar(at: unit.lowerBound).0.value {
    case 0x3041...0x3096, 0x30A1...0x30FA, 0x4E00...0x9FFF, 0xAC00...0xD7A3: return true
    default: return false
    }
  }

  /// Returns the offset of the end of a character and its marks.
  private func unit(from start: Int) -> Int {
    var end = character(at: start).1
    while end < source.count {
      let (kind, next) = character(at: end)
      guard kind == .mark else { break }
      end = next
    }
    return end
  }
}
