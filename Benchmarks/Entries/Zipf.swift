import Foundation

/// Random numbers with a Zipf distribution, as in YCSB: 0 is the most frequent number.
///
/// The algorithm comes from Gray et al., "Quickly Generating Billion-Record Synthetic Databases".
struct Zipf: Sendable {
  private static let theta = 0.99

  private let count: Double
  private let zeta: Double
  private let eta: Double
  private let alpha = 1 / (1 - theta)

  /// Creates a distribution over the numbers below `count`.
  init(count: Int) {
    self.count = Double(count)
    zeta = (1...count).reduce(0) { $0 + 1 / pow(Double($1), Self.theta) }
    let two = 1 + pow(0.5, Self.theta)
    eta = (1 - pow(2 / self.count, 1 - Self.theta)) / (1 - two / zeta)
  }

  func next(_ random: inout RandomNumbers) -> Int {
    let share = random.fraction()
    let scaled = share * zeta
    if scaled < 1 || count < 3 { return 0 }
    if scaled < 1 + pow(0.5, Self.theta) { return 1 }
    return min(Int(count * pow(eta * share - eta + 1, alpha)), Int(count) - 1)
  }
}
