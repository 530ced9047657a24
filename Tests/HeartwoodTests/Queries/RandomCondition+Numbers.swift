import Foundation
import Heartwood
import HeartwoodTestSupport

extension RandomCondition {
  /// Returns a condition on a `Float` or a decimal number, and a number of another type.
  static func mixedNumbers(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition {
    let (sign, compare) = comparison(&random, Float.self)
    let bound = Float(random.below(5)) / 10
    let idols = "\(prefix)idols"
    switch random.below(8) {
    case 0:
      return RandomCondition(format: "\(prefix)length \(sign) \(bound)") {
        compare($0.length, bound)
      }
    case 1:
      return RandomCondition(format: "ANY \(idols).length \(sign) \(bound)") {
        $0.idols.contains { compare($0.length, bound) }
      }
    case 2:
      return RandomCondition(format: "\(bound) \(sign) \(idols).@max.length") {
        compare(bound, $0.idols.map(\.length).max())
      }
    case 3:
      return RandomCondition(format: "\(bound) IN \(idols).length") {
        $0.idols.map(\.length).contains(bound)
      }
    case 4:
      return RandomCondition(
        format: "SUBQUERY(\(idols), $float, $float.length \(sign) \(bound)).@count > 1"
      ) { $0.idols.filter { compare($0.length, bound) }.count > 1 }
    case 5:
      return RandomCondition(format: "\(prefix)length IN {\(bound), \(prefix)weight}") {
        $0.length == bound || Double($0.length) == $0.weight
      }
    default: return decimal(&random, prefix)
    }
  }

  private static func decimal(_ random: inout SeededGenerator, _ prefix: String) -> RandomCondition
  {
    let (sign, compare) = comparison(&random, Double.self)
    // Numbers are compared by their shortest texts, which `Double` distinguishes here.
    func number(_ value: some CustomStringConvertible) -> Double? { Double("\(value)") }
    switch random.below(3) {
    case 0:
      return RandomCondition(format: "\(prefix)price \(sign) \(prefix)weight") {
        compare(number($0.price), $0.weight)
      }
    case 1:
      return RandomCondition(format: "\(prefix)length \(sign) \(prefix)price") {
        compare(number($0.length), number($0.price))
      }
    default:
      return RandomCondition(format: "\(prefix)price IN \(prefix)idols.length") { animal in
        animal.idols.contains { number($0.length) == number(animal.price) }
      }
    }
  }
}
