/// A stemmer that removes the endings of English words, using the algorithm from Porter's paper "An
/// algorithm for suffix stripping" (1980).
///
/// The comments give the number of each step in the paper.
struct PorterStemmer {
  /// The letters of the word being stemmed.
  ///
  /// The algorithm considers only the first `end` letters.
  private var word: [UInt8] = []
  private var end = 0
  /// The length of the stem that precedes the most recently compared suffix.
  private var stemEnd = 0

  /// Stems the word that begins at `start` in `bytes`.
  ///
  /// A possessive `'s` is removed first. After that, words of one or two letters are left
  /// unchanged. Words that contain characters other than the letters a to z are also left
  /// unchanged.
  mutating func stem(_ bytes: inout [UInt8], from start: Int) {
    if bytes.count > start + 2, bytes[bytes.count - 2] == UInt8(ascii: "'"),
      bytes[bytes.count - 1] == UInt8(ascii: "s")
    {
      bytes.removeLast(2)
    }
    guard bytes.count > start + 2 else { return }
    for position in start..<bytes.count where !(0x61...0x7A).contains(bytes[position]) { return }
    word.removeAll(keepingCapacity: true)
    word.append(contentsOf: bytes[start...])
    end = word.count
    removePlural()
    removePastTense()
    replaceFinalY()
    replaceDoubleSuffixes()
    removeDerivation()
    removeLongSuffix()
    tidy()
    bytes.removeSubrange(start...)
    bytes.append(contentsOf: word[..<end])
  }

  // MARK: Word beginnings

  /// The word endings that can complete a partially typed word.
  private static let endings = [
    "s", "es", "ies", "ed", "ied", "ing", "y", "ly", "ational", "tional", "ency", "ancy", "izer",
    "ably", "ally", "ently", "ely", "ously", "ization", "ation", "ator", "alism", "iveness",
    "fulness", "ousness", "ality", "ivity", "bility", "icate", "ative", "alize", "icity", "ical",
    "ful", "ness", "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent",
    "ion", "ism", "ate", "ity", "ous", "ive", "ize",
  ].map { Array($0.utf8) }

  /// Returns the stems of words that could start with `beginning`, excluding stems that themselves
  /// start with `beginning`.
  mutating func stems(completing beginning: [UInt8]) -> [[UInt8]] {
    guard beginning.count > 2, beginning.allSatisfy({ (0x61...0x7A).contains($0) }) else {
      return []
    }
    var result: Set<[UInt8]> = []
    for ending in Self.endings {
      for count in 0...ending.count where beginning.suffix(count) == ending.prefix(count) {
        var word = beginning + ending.dropFirst(count)
        stem(&word, from: 0)
        if !word.starts(with: beginning) { result.insert(word) }
      }
    }
    return result.sorted { $0.lexicographicallyPrecedes($1) }
  }

  // MARK: Conditions

  private func isConsonant(_ position: Int) -> Bool {
    switch word[position] {
    case UInt8(ascii: "a"), UInt8(ascii: "e"), UInt8(ascii: "i"), UInt8(ascii: "o"),
      UInt8(ascii: "u"):
      false
    case UInt8(ascii: "y"): position == 0 || !isConsonant(position - 1)
    default: true
    }
  }

  /// The measure of the stem: the number of times that a vowel is followed by a consonant.
  private var measure: Int {
    var count = 0
    var wasVowel = false
    var followsConsonant = true
    for position in 0..<stemEnd {
      // A "y" is a consonant unless it follows another consonant.
      let isConsonant =
        word[position] == UInt8(ascii: "y")
        ? position == 0 || !followsConsonant : self.isConsonant(position)
      if isConsonant, wasVowel { count += 1 }
      wasVowel = !isConsonant
      followsConsonant = isConsonant
    }
    return count
  }

  private var stemHasVowel: Bool { (0..<stemEnd).contains { !isConsonant($0) } }

  /// Returns whether the first `count` letters end with a double consonant.
  private func endsWithDouble(_ count: Int) -> Bool {
    count > 1 && word[count - 1] == word[count - 2] && isConsonant(count - 1)
  }

  /// Returns whether the first `count` letters end with a consonant, a vowel and a consonant other
  /// than w, x or y.
  private func endsWithShortSyllable(_ count: Int) -> Bool {
    guard count > 2, isConsonant(count - 1), !isConsonant(count - 2), isConsonant(count - 3) else {
      return false
    }
    return ![UInt8(ascii: "w"), UInt8(ascii: "x"), UInt8(ascii: "y")].contains(word[count - 1])
  }

  private mutating func ends(with suffix: StaticString) -> Bool {
    let count = suffix.utf8CodeUnitCount
    guard count <= end else { return false }
    let isEqual = suffix.withUTF8Buffer { suffix in
      (0..<count).allSatisfy { word[end - count + $0] == suffix[$0] }
    }
    if isEqual { stemEnd = end - count }
    return isEqual
  }

  private mutating func replaceSuffix(with text: StaticString) {
    word.removeSubrange(stemEnd...)
    text.withUTF8Buffer { word.append(contentsOf: $0) }
    end = word.count
  }

  // MARK: Steps

  /// Removes a plural ending, as in "cats" (step 1a of the algorithm).
  private mutating func removePlural() {
    if ends(with: "sses") || ends(with: "ies") {
      end -= 2
    } else if !ends(with: "ss"), ends(with: "s") {
      end -= 1
    }
  }

  /// Removes the ending of a past tense or a participle, as in "plastered" (step 1b of the
  /// algorithm).
  private mutating func removePastTense() {
    if ends(with: "eed") {
      if measure > 0 { end -= 1 }
      return
    }
    guard ends(with: "ed") && stemHasVowel || ends(with: "ing") && stemHasVowel else { return }
    end = stemEnd
    if ends(with: "at") || ends(with: "bl") || ends(with: "iz") {
      stemEnd = end
      replaceSuffix(with: "e")
    } else if endsWithDouble(end) {
      let last = word[end - 1]
      if ![UInt8(ascii: "l"), UInt8(ascii: "s"), UInt8(ascii: "z")].contains(last) { end -= 1 }
    } else if endsWithShortSyllable(end) {
      stemEnd = end
      if measure == 1 { replaceSuffix(with: "e") }
    }
  }

  /// Replaces a final "y" with "i", as in "happy" (step 1c of the algorithm).
  private mutating func replaceFinalY() {
    if ends(with: "y"), stemHasVowel { replaceSuffix(with: "i") }
  }

  /// Shortens a double suffix, such as "ization" to "ize" (step 2 of the algorithm).
  private mutating func replaceDoubleSuffixes() {
    replaceFirst(of: [
      ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
      ("abli", "able"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
      ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
      ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"),
      ("biliti", "ble"),
    ])
  }

  /// Removes or shortens a suffix such as "ness" or "alize" (step 3 of the algorithm).
  private mutating func removeDerivation() {
    replaceFirst(of: [
      ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
      ("ful", ""), ("ness", ""),
    ])
  }

  private mutating func replaceFirst(of suffixes: [(StaticString, StaticString)]) {
    for (suffix, replacement) in suffixes where ends(with: suffix) {
      if measure > 0 { replaceSuffix(with: replacement) }
      return
    }
  }

  /// Removes a suffix such as "ance" or "ment" from a long word (step 4 of the algorithm).
  private mutating func removeLongSuffix() {
    let suffixes: [StaticString] = [
      "al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
      "ism", "ate", "iti", "ous", "ive", "ize",
    ]
    for suffix in suffixes where ends(with: suffix) {
      // Remove "ion", which is the only suffix that ends with n, only after an s or a t.
      let before = stemEnd > 0 ? word[stemEnd - 1] : 0
      let isAfterSOrT = before == UInt8(ascii: "s") || before == UInt8(ascii: "t")
      if word[end - 1] == UInt8(ascii: "n"), !isAfterSOrT { return }
      if measure > 1 { end = stemEnd }
      return
    }
  }

  /// Removes a final "e", and shortens a final "ll", if the word is long (step 5 of the algorithm).
  private mutating func tidy() {
    if ends(with: "e") {
      let count = measure
      if count > 1 || count == 1 && !endsWithShortSyllable(stemEnd) { end = stemEnd }
    }
    if ends(with: "l"), endsWithDouble(end) {
      stemEnd = end
      if measure > 1 { end -= 1 }
    }
  }
}
