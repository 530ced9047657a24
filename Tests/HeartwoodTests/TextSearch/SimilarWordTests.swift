import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

@Suite("Similar words")
struct SimilarWordTests {
  @Test(.evidence("TX-05"), arguments: TestScale.seeds(quick: 2, all: 15, long: 40))
  func `a similar word differs by at most the given number of letters`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let letters = Array("abcé東".unicodeScalars)
    func word(_ counts: ClosedRange<Int>) -> String {
      var view = String.UnicodeScalarView()
      for _ in 0..<Int.random(in: counts, using: &random) {
        view.append(letters[random.below(letters.count)])
      }
      return String(view)
    }
    let fixture = try TextFixture()
    let context = fixture.context()
    let words = Set((0..<400).map { _ in word(1...6) } + [String(repeating: "a", count: 126)])
    for word in words { Essay(context: context).title = word }
    try context.save()
    let clean = fixture.context()
    // The tokenizer folds accents and splits words at Chinese characters.
    let terms = try clean.terms(withPrefix: "", of: Essay.self, limit: 10_000).map(\.text)
    for _ in 0..<40 {
      let wanted = word(1...7).filter { $0 != "東" && $0 != "é" }
      guard !wanted.isEmpty else { continue }
      for most in 0...2 {
        let request = FetchRequest<Essay>(matching: .similar(wanted, distance: most))
        let found = Set(try clean.fetch(request).map(\.title))
        let similar = terms.filter { TextReference.distance($0, wanted) <= most }
        let expected = try clean.fetch(
          FetchRequest<Essay>(matching: .any(similar.map { .word($0) })))
        #expect(found == Set(expected.map(\.title)), "seed \(seed), \(wanted), \(most)")
      }
    }
  }
}
