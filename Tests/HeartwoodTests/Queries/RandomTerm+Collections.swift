import Foundation
import Heartwood
import HeartwoodTestSupport

/// Generates random terms on objects and on the members of relationships.
extension RandomTerms {
  private typealias Members = Term<Set<Animal>, Set<Animal>>

  private mutating func members() -> Members {
    let subject = random.below(subjectCount)
    let path = subject == 0 ? "" : "$v\(subject)."
    if random.isTrue(in256: 128) {
      return Members(
        format: path + "idols",
        node: { PredicateExpressions.build_KeyPath(root: $0[subject], keyPath: \.idols) },
        value: { $0[subject].idols })
    }
    return Members(
      format: path + "admirers",
      node: { PredicateExpressions.build_KeyPath(root: $0[subject], keyPath: \.admirers) },
      value: { $0[subject].admirers })
  }

  /// Returns a condition that may refer to one more animal, and the number of that animal.
  private mutating func inner(_ depth: Int) -> (Condition, Int) {
    subjectCount += 1
    defer { subjectCount -= 1 }
    return (condition(depth), subjectCount - 1)
  }

  /// Returns the number of members of a relationship, or of the members that match a condition.
  mutating func memberCount(_ depth: Int) -> Integer {
    let members = members()
    guard depth > 0 else {
      return Integer(
        members, { "\($0).@count" }, node: { countNode($0) }, value: { Int128($0?.count ?? 0) })
    }
    let (test, number) = inner(depth - 1)
    return Integer(
      format: members.format.flatMap { path in
        test.format.map { "SUBQUERY(\(path), $v\(number), \($0)).@count" }
      }, arguments: members.arguments + test.arguments,
      node: members.node.flatMap { set in
        test.node.map { inner in
          { subjects in
            filteredCount(set(subjects), inner(subjects + [.init()])) { inner(subjects + [$0]) }
          }
        }
      },
      value: { animals in
        Int128((members.value(animals) ?? []).count { test.holds(animals + [$0]) })
      })
  }

  /// Returns a condition that at least one member or all members of a relationship must satisfy.
  mutating func quantified(_ depth: Int) -> Condition {
    let members = members()
    let (test, number) = inner(depth - 1)
    let (isAll, word) = (random.isTrue(in256: 128), one(of: ["SUBQUERY", "subquery"]))
    return Condition(
      format: members.format.flatMap { path in
        test.format.map {
          isAll
            ? "\(word)(\(path), $v\(number), \($0)).@count = \(path).@count"
            : "\(word)(\(path), $v\(number), \($0)).@count > 0"
        }
      }, arguments: members.arguments + test.arguments,
      node: members.node.flatMap { set in
        test.node.map { inner in
          { subjects in
            quantifiedNode(set(subjects), isAll, inner(subjects + [.init()])) {
              inner(subjects + [$0])
            }
          }
        }
      },
      value: { animals in
        let members = members.value(animals) ?? []
        return isAll
          ? members.allSatisfy { test.holds(animals + [$0]) }
          : members.contains { test.holds(animals + [$0]) }
      })
  }

  /// Returns a condition with a quantifier of the format language, on one property of the members.
  mutating func simplyQuantified() -> Condition {
    let members = members()
    let path = members.format ?? ""
    let (number, bound) = (subjectCount, random.below(5) - 2)
    let legs = Integer(
      format: "\(path).legs",
      node: { PredicateExpressions.build_KeyPath(root: $0[number], keyPath: \.legs) },
      value: { Int128($0[number].legs) })
    let test: Condition
    if random.isTrue(in256: 160) {
      test = comparison(legs, integer(0))
    } else {
      test = Condition(
        legs, { "\($0) BETWEEN {\(bound), \(bound + 1)}" },
        node: { isIn(range: bound...(bound + 1), $0) },
        value: { $0.map { $0 == Int128(bound) || $0 == Int128(bound + 1) } })
    }
    let word = one(of: ["ANY", "SOME", "ALL", "NONE", "any"])
    return Condition(
      format: test.format.map { "\(word) \($0)" }, arguments: test.arguments,
      node: members.node.flatMap { set in
        test.node.map { inner in
          { subjects in
            let node = quantifiedNode(
              set(subjects), word == "ALL", inner(subjects + [.init()])
            ) { inner(subjects + [$0]) }
            return word == "NONE" ? negation(node) : node
          }
        }
      },
      value: { animals in
        let members = members.value(animals) ?? []
        let count = members.count { test.holds(animals + [$0]) }
        switch word {
        case "ALL": return count == members.count
        case "NONE": return count == 0
        default: return count > 0
        }
      })
  }

  mutating func related() -> Condition {
    let subject = random.below(subjectCount)
    let own = subject == 0 ? "SELF" : "$v\(subject)"
    let members = members()
    switch form(both: 4, predicate: 1, format: 4) {
    case 0:
      return Condition(
        members, { "\($0).@count = 0" }, node: { isEmptyNode($0) }, value: { $0?.isEmpty })
    case 1:
      return Condition(
        format: members.format.map { "\(own) IN \($0)" },
        node: members.node.map { set in { isMember(set($0), $0[subject]) } },
        value: { members.value($0)?.contains($0[subject]) })
    case 2:
      let other = random.below(subjectCount)
      return Condition(
        format: "\(own).home = \(other == 0 ? "" : "$v\(other).")home",
        node: {
          PredicateExpressions.build_Equal(
            lhs: PredicateExpressions.build_KeyPath(root: $0[subject], keyPath: \.home),
            rhs: PredicateExpressions.build_KeyPath(root: $0[other], keyPath: \.home))
        }, value: { $0[subject].home == $0[other].home })
    case 3: return neighbours(subject, own)
    case 100:
      return Condition(
        node: { subjects in
          let home = PredicateExpressions.build_KeyPath(root: subjects[subject], keyPath: \.home)
          let isThere = PredicateExpressions.build_flatMap(home) {
            PredicateExpressions.build_contains(
              PredicateExpressions.build_KeyPath(root: $0, keyPath: \.animals), subjects[0])
          }
          return PredicateExpressions.build_NilCoalesce(
            lhs: isThere, rhs: PredicateExpressions.build_Arg(false))
        }, value: { $0[subject].home?.animals.contains($0[0]) ?? false })
    case 200: return integerIn("\(own).idols.legs") { $0[subject].idols.map(\.legs) }
    case 201:
      return integerIn("\(own).idols.admirers.paws") {
        $0[subject].idols.flatMap(\.admirers).map(\.paws)
      }
    case 202:
      return integerIn("\(own).home.town.homes.animals.legs") {
        ($0[subject].home?.town?.homes ?? []).flatMap(\.animals).map(\.legs)
      }
    default:
      let id = one(of: ids)
      return Condition(
        format: members.format.map { "ANY \($0) == %@" }, arguments: [id],
        value: { members.value($0)?.contains { $0.objectID == id } })
    }
  }

  private mutating func integerIn(
    _ path: String, _ values: @escaping ([Animal]) -> [Int]
  ) -> Condition {
    let element = integer(0)
    return Condition(
      format: element.format.map { "\($0) IN \(path)" }, arguments: element.arguments,
      value: { animals in
        element.value(animals).map { values(animals).map { Int128($0) }.contains($0) }
      })
  }

  /// Returns a condition on the number of animals in the same home.
  private mutating func neighbours(_ subject: Int, _ own: String) -> Condition {
    let count = Integer(
      format: "\(own).home.animals.@count",
      node: { subjects in
        let home = PredicateExpressions.build_KeyPath(root: subjects[subject], keyPath: \.home)
        let count = PredicateExpressions.build_flatMap(home) {
          PredicateExpressions.build_KeyPath(
            root: PredicateExpressions.build_KeyPath(root: $0, keyPath: \.animals),
            keyPath: \.count)
        }
        return PredicateExpressions.build_NilCoalesce(
          lhs: count, rhs: PredicateExpressions.build_Arg(0))
      }, value: { Int128($0[subject].home?.animals.count ?? 0) })
    return comparison(count, integerConstant())
  }

  // MARK: Objects

  /// Returns a condition on an object's identity or class.
  mutating func objectCondition() -> Condition {
    let subject = random.below(subjectCount)
    let own = subject == 0 ? "SELF" : "$v\(subject)"
    let id = one(of: ids)
    let some = (0..<5).map { _ in one(of: ids) }
    let tricks = random.below(4)
    switch form(both: 2, predicate: 4) {
    case 0:
      return Condition(
        format: "\(own) == %@", arguments: [id],
        node: { equality(objectID($0[subject]), PredicateExpressions.build_Arg(id)) },
        value: { $0[subject].objectID == id })
    case 1:
      return Condition(
        format: "\(own) IN %@", arguments: [some],
        node: { isIn(list: some, objectID($0[subject])) },
        value: { some.contains($0[subject].objectID) })
    case 100:
      return Condition(
        node: {
          PredicateExpressions.TypeCheck<_, Dog>(PredicateExpressions.build_Arg($0[subject]))
        }, value: { $0[subject] is Dog })
    case 101:
      return Condition(
        node: { subjects in
          let dog = PredicateExpressions.ConditionalCast<_, Dog>(subjects[subject])
          return equality(
            PredicateExpressions.build_flatMap(dog) {
              PredicateExpressions.build_KeyPath(root: $0, keyPath: \.tricks)
            }, PredicateExpressions.build_Arg(tricks as Int?))
        }, value: { ($0[subject] as? Dog)?.tricks == tricks })
    case 102:
      return Condition(
        node: { subjects in
          let dog = PredicateExpressions.ForceCast<_, Dog>(subjects[subject])
          return equality(
            PredicateExpressions.build_KeyPath(root: dog, keyPath: \.tricks),
            PredicateExpressions.build_Arg(tricks))
        }, value: { ($0[subject] as? Dog)?.tricks == tricks })
    default:
      let other = random.below(subjectCount)
      return Condition(
        node: { equality($0[subject], $0[other]) }, value: { $0[subject] == $0[other] })
    }
  }
}

private func objectID(
  _ animal: PredicateExpressions.Variable<Animal>
) -> PredicateExpressions.KeyPath<PredicateExpressions.Variable<Animal>, ManagedObjectID> {
  PredicateExpressions.build_KeyPath(root: animal, keyPath: \.objectID)
}
