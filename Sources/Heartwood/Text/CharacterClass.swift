/// A class of characters for determining word boundaries as in Unicode Standard Annex #29.
enum CharacterClass: UInt8 {
  /// A character that is not part of a word.
  case other
  case letter
  /// A Hebrew letter, which can be followed by a quotation mark within a word.
  case hebrew
  case digit
  /// A character such as `_`, which joins letters and digits.
  case joiner
  /// A mark or an invisible character, which is treated as part of the preceding character.
  case mark
  /// Punctuation between letters, such as the apostrophe in "don't".
  case midLetter
  /// Punctuation between digits, such as the comma in "1,000".
  case midNumber
  /// An apostrophe, which can be punctuation between letters or between digits.
  case midBoth
  /// A quotation mark, which can be punctuation between Hebrew letters.
  case quote
  /// A character from a script that does not separate words with spaces.
  ///
  /// Runs of such characters are split into pairs.
  case paired

  /// The classes of the ASCII characters.
  private static let ascii: [CharacterClass] = (0..<128).map { byte in
    switch UInt8(byte) {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): .letter
    case UInt8(ascii: "0")...UInt8(ascii: "9"): .digit
    case UInt8(ascii: "_"): .joiner
    case UInt8(ascii: "'"): .midBoth
    case UInt8(ascii: "\""): .quote
    // Allow these characters between digits, but not between letters. Unlike Annex #29, treat
    // "example.com" as two words, so that a query can find each part.
    case UInt8(ascii: "."), UInt8(ascii: ","), UInt8(ascii: ";"): .midNumber
    default: .other
    }
  }

  init(ascii byte: UInt8) { self = Self.ascii[Int(byte)] }

  init(_ scalar: Unicode.Scalar) {
    switch scalar.value {
    case 0xC0..<0x250: self = scalar.value == 0xD7 || scalar.value == 0xF7 ? .other : .letter
    case 0x2019, 0x2018, 0xFF07: self = .midBoth
    case 0xB7, 0x387, 0x55F, 0x5F4, 0x2027: self = .midLetter
    case 0x37E, 0x589, 0x60C, 0x60D, 0x66C, 0x7F8, 0x2024, 0x2044, 0xFE10, 0xFE14, 0xFE50, 0xFE52,
      0xFE54, 0xFF0C, 0xFF0E, 0xFF1B:
      self = .midNumber
    case 0x66B: self = .digit
    // Join digits across the narrow space that separates groups of digits in a long number.
    case 0x202F: self = .joiner
    // Treat the zero-width space as a word separator, although its Unicode category would make it a
    // mark.
    case 0x200B: self = .other
    // Treat these characters as letters, although other Unicode properties classify them as symbols
    // or punctuation.
    case 0x2C2...0x2C5, 0x2D2...0x2D7, 0x2DE...0x2FF, 0x55A...0x55C, 0x55E, 0x58A, 0x5F3,
      0xA708...0xA721, 0xA789...0xA78A, 0xAB5B:
      self = .letter
    case 0x5D0...0x5F2, 0xFB1D...0xFB4F: self = Self(properties: scalar, letter: .hebrew)
    case 0x3031...0x3035, 0x309B...0x309C, 0x30A0, 0x32D0...0x32FE, 0x3300...0x3357: self = .paired
    // Split text in South-East Asian scripts, kana, Hangul and Khitan into pairs of characters.
    case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x1950...0x19DF, 0x1A20...0x1AAF,
      0x3040...0x30FF, 0x31F0...0x31FF, 0xA9E0...0xA9FF, 0xAA60...0xAADF, 0xAC00...0xD7A3,
      0xFF66...0xFF9D, 0x11700...0x1174F, 0x17000...0x18DFF, 0x1AFF0...0x1B2FF:
      self = Self(properties: scalar, letter: .paired)
    // These are the parts of a decomposed Hangul syllable. The first part begins the syllable, and
    // the other parts continue it.
    case 0x1100...0x115F, 0xA960...0xA97F: self = .paired
    case 0x1160...0x11FF, 0xD7B0...0xD7FF: self = .mark
    case 0xFF9E, 0xFF9F: self = .mark
    default:
      self = scalar.properties.isIdeographic ? .paired : Self(properties: scalar, letter: .letter)
    }
  }

  private init(properties scalar: Unicode.Scalar, letter: CharacterClass) {
    self =
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .letterNumber:
        letter
      case .decimalNumber: .digit
      case .connectorPunctuation: .joiner
      case .nonspacingMark, .enclosingMark, .spacingMark, .format: .mark
      // Treat a letter in a circle or a square as a letter, although Unicode classifies it as a
      // symbol.
      case .otherSymbol: scalar.properties.isAlphabetic ? letter : .other
      default: .other
      }
  }
}
