/// The class of a character for finding the boundaries of words, as in Unicode's Standard Annex 29.
enum CharacterClass: UInt8 {
  /// A character that is not part of a word.
  case other
  case letter
  case digit
  /// A character such as `_`, which joins letters and digits.
  case joiner
  /// A mark or an invisible character, which belongs to the character before it.
  case mark
  /// Punctuation between letters, such as the apostrophe in "don't".
  case midLetter
  /// Punctuation between digits, such as the comma in "1,000".
  case midNumber
  /// Punctuation between letters or between digits: an apostrophe.
  case midBoth
  /// A character of a script without spaces, whose runs are split into pairs.
  case paired

  /// The classes of the ASCII characters.
  private static let ascii: [CharacterClass] = (0..<128).map { byte in
    switch UInt8(byte) {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): .letter
    case UInt8(ascii: "0")...UInt8(ascii: "9"): .digit
    case UInt8(ascii: "_"): .joiner
    case UInt8(ascii: "'"): .midBoth
    // Letters on both sides of a full stop or a colon are parts of an address, so they are words
    // of their own.
    case UInt8(ascii: "."), UInt8(ascii: ","), UInt8(ascii: ";"): .midNumber
    default: .other
    }
  }

  init(ascii byte: UInt8) { self = Self.ascii[Int(byte)] }

  init(_ scalar: Unicode.Scalar) {
    switch scalar.value {
    case 0..<0x80: self.init(ascii: UInt8(scalar.value))
    case 0xC0..<0x250: self = scalar.value == 0xD7 || scalar.value == 0xF7 ? .other : .letter
    case 0x2019, 0x2018, 0xFF07: self = .midBoth
    case 0xB7, 0x387, 0x55F, 0x5F4, 0x2027: self = .midLetter
    case 0x37E, 0x589, 0x60C, 0x60D, 0x66C, 0x7F8, 0x2044, 0xFF0C, 0xFF0E, 0xFF1B: self = .midNumber
    // The zero-width space separates words.
    case 0x200B: self = .other
    case 0x0E00...0x0EFF, 0x1000...0x109F, 0x1780...0x17FF, 0x3040...0x30FF, 0x31F0...0x31FF,
      0xAC00...0xD7A3, 0xFF66...0xFF9F:
      self = Self.isPart(scalar) ? .paired : Self(properties: scalar)
    default: self = scalar.properties.isIdeographic ? .paired : Self(properties: scalar)
    }
  }

  private static func isPart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .otherLetter, .modifierLetter: true
    default: false
    }
  }

  private init(properties scalar: Unicode.Scalar) {
    self =
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter,
        .letterNumber:
        .letter
      case .decimalNumber: .digit
      case .connectorPunctuation: .joiner
      case .nonspacingMark, .enclosingMark, .spacingMark, .format: .mark
      default: .other
      }
  }
}
