/// Generates documents whose word frequencies resemble those of natural languages.
struct TextGenerator {
  private let zipf: Zipf
  private let words: [String]

  /// The number of different words.
  private static let wordCount = 60_000
  private static let syllables = [
    "ba", "ce", "di", "fo", "gu", "ha", "je", "ki", "lo", "mu", "na", "pe", "qui", "ro", "su", "ta",
    "ve", "wi", "xo", "zu", "an", "er", "in", "on", "un", "al", "es", "ir", "or", "us", "th", "st",
  ]

  init() {
    zipf = Zipf(count: Self.wordCount)
    // Make frequent words short, as in natural languages.
    words = (0..<Self.wordCount).map { number in
      var rest = number
      var word = ""
      repeat {
        word += Self.syllables[rest % Self.syllables.count]
        rest /= Self.syllables.count
      } while rest > 0
      return word + (number % 7 == 0 ? "s" : "n")
    }
  }

  func document(_ number: Int) -> TextDocument {
    var random = RandomNumbers(seed: UInt64(number) &* 7_919)
    func text(_ count: Int) -> String {
      (0..<count).map { _ in word(&random) }.joined(separator: " ")
    }
    let title = text(3 + Int(random.next() % 6))
    return TextDocument(title: title, body: text(20 + Int(random.next() % 100)))
  }

  func word(_ random: inout RandomNumbers) -> String { words[zipf.next(&random)] }

  /// Returns a word of medium frequency.
  func mediumWord(_ random: inout RandomNumbers) -> String {
    words[10 + Int(random.next() % 2000)]
  }
}
