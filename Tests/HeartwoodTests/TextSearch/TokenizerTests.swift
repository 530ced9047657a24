import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Tokenizers")
struct TokenizerTests {
  private func terms(_ text: String, _ tokenizer: TextTokenizer = .words()) -> [String] {
    var tokens = TextTokens()
    tokenizer.tokenize(text, into: &tokens)
    return tokens.tokens.map { String(decoding: tokens.term($0), as: UTF8.self) }
  }

  @Test(
    .evidence("TX-02"),
    arguments: [
      ("4km mp3 3D 1,5m", ["4", "km", "mp3", "3", "d", "1,5", "m"]), ("", []), ("  .,;-- ", []),
      ("Hello, World!", ["hello", "world"]),
      (
        "The quick (“brown”) fox can’t jump 32.3 feet, right?",
        ["the", "quick", "brown", "fox", "can't", "jump", "32.3", "feet", "right"]
      ),
      ("1,000.50 3.a a.3", ["1,000.50", "3", "a", "a", "3"]),
      ("snake_case _ __x", ["snake_case", "__x"]),
      (
        "kim@example.com https://swift.org:443/a-b?c=1",
        ["kim", "example", "com", "https", "swift", "org", "443", "a", "b", "c", "1"]
      ),
      ("Ünïcôdé ÅNGSTRÖM Straße ΣΊΣΥΦΟΣ", ["unicode", "angstrom", "strasse", "σισυφοσ"]),
      ("e\u{301}te\u{301} co\u{AD}op a\u{200D}b", ["ete", "coop", "ab"]),
      ("東京都", ["東京", "京都", "都"]), ("東", ["東"]),
      (
        "ひらがなとA1",
        ["ひら", "らが", "がな", "なと", "と", "a1"]
      ),
      ("한국어", ["한국", "국어", "어"]),
      ("한국어 ᄀ가".decomposedStringWithCanonicalMapping, ["한국", "국어", "어", "ᄀ가", "가"]),
      ("a🙂b 👩‍👩‍👧", ["a", "b"]), ("x\u{200B}y", ["x", "y"]),
      ("צה\"ל צה״ל ג׳ \"שלום\" 'שלום'", ["צה\"ל", "צה\"ל", "ג'", "שלום", "שלום"]),
      ("10\u{202F}000 mot\u{202F}! ｶﾞｷﾞ ᥐᥑᥒ", ["10000", "mot", "ガギ", "ギ", "ᥐᥑ", "ᥑᥒ", "ᥒ"]),
      ("'quoted' rock'n'roll d'", ["quoted", "rock'n'roll", "d"]), ("ﬁne ＡＢ", ["fine", "ab"]),
      ("3×4÷5 a☃b", ["3", "4", "5", "a", "b"]), ("١٫٢ a\u{203F}b Ⓐⓑ", ["١٫٢", "a\u{203F}b", "ab"]),
    ] as [(String, [String])])
  func `words are split by Unicode's rules, and scripts without spaces are split into pairs`(
    text: String, expected: [String]
  ) {
    #expect(terms(text) == expected)
  }

  @Test(.evidence("TX-02")) func `case and diacritics can be kept`() {
    #expect(terms("Été ÉTÉ", .words(ignoresCase: false)) == ["Ete", "ETE"])
    #expect(terms("E\u{301}té", .words(ignoresDiacritics: false)) == ["été"])
    #expect(terms("Été", .words(ignoresCase: false, ignoresDiacritics: false)) == ["Été"])
  }

  @Test(
    .evidence("TX-03"),
    arguments: [
      "caresses": "caress", "ponies": "poni", "cats": "cat", "feed": "feed", "agreed": "agre",
      "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing",
      "conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop",
      "tanned": "tan", "falling": "fall", "hissing": "hiss", "fizzed": "fizz", "failing": "fail",
      "filing": "file", "happy": "happi", "sky": "sky", "relational": "relat",
      "conditional": "condit", "rational": "ration", "digitizer": "digit", "radically": "radic",
      "differently": "differ", "vietnamization": "vietnam", "predication": "predic",
      "operator": "oper", "feudalism": "feudal", "decisiveness": "decis", "hopefulness": "hope",
      "formality": "formal", "sensitivity": "sensit", "sensibility": "sensibl",
      "triplicate": "triplic", "formative": "form", "formalize": "formal", "electrical": "electr",
      "goodness": "good", "revival": "reviv", "allowance": "allow", "inference": "infer",
      "airliner": "airlin", "adjustable": "adjust", "defensible": "defens", "irritant": "irrit",
      "replacement": "replac", "adjustment": "adjust", "dependent": "depend", "adoption": "adopt",
      "communism": "commun", "activate": "activ", "homologous": "homolog", "effective": "effect",
      "bowdlerize": "bowdler", "probate": "probat", "rate": "rate", "cease": "ceas",
      "controll": "control", "roll": "roll", "generalizations": "gener", "oscillators": "oscil",
      "swift's": "swift", "by": "by", "toy": "toi", "say": "sai",
    ])
  func `words have the stems of Porter's paper`(word: String, stem: String) {
    #expect(terms(word, .words(stemming: .english)) == [stem])
  }

  @Test(.evidence("TX-02")) func `vowel signs and voicing marks are not diacritics`() {
    #expect(terms("के कु") == ["के", "कु"])
    #expect(terms("שָׁלוֹם مُحَمَّد") == ["שלום", "محمد"])
    #expect(terms("ﾃﾞｰﾀ データ") == ["デー", "ータ", "タ", "デー", "ータ", "タ"])
  }

  @Test(.evidence("TX-10"), .mustEnd) func `hostile texts take linear time and little memory`() {
    let long = String(repeating: "a", count: 1 << 20)
    #expect(terms(long).map(\.utf8.count) == [128])
    let accented = String(repeating: "é", count: 1 << 19)
    #expect(terms(accented, .words(ignoresDiacritics: false)).map(\.utf8.count) == [128])
    // These texts contain marks, joiners and control characters without letters.
    #expect(terms(String(repeating: "\u{200D}\u{301}\u{FEFF}", count: 1 << 18)) == [])
    #expect(terms("a" + String(repeating: "\u{301}\u{200D}", count: 1 << 18) + " b") == ["a", "b"])
    #expect(terms(String(repeating: "'.", count: 1 << 18)) == [])
    let invalid: [UInt8] = [0xFF, 0xC3, 0x28, 0xE2, 0x82]
    #expect(terms(String(decoding: invalid, as: UTF8.self)) == [])
    #expect(terms(String(repeating: "東", count: 1 << 16)).count == 1 << 16)
  }

  @Test(.evidence("TX-02")) func `tokens have the ranges of their words in the text`() throws {
    let text = "Ein Äpfelchen, 東京都 — don’t"
    var tokens = TextTokens()
    TextTokenizer.words().tokenize(text, into: &tokens)
    let words = tokens.tokens.map {
      String(decoding: Array(text.utf8)[$0.sourceStart..<$0.sourceEnd], as: UTF8.self)
    }
    #expect(words == ["Ein", "Äpfelchen", "東京", "京都", "都", "don’t"])
    #expect(tokens.tokens.map(\.position) == Array(0..<6))
  }
}
