import Foundation
import Heartwood

/// The value of an attribute; values are equal if their stored bits are equal.
enum CrewValue: Hashable, CustomStringConvertible {
  case none
  case integer(Int)
  case number(UInt64)
  case text([UInt8])
  case token(UUID)
  case plan(CrewPlan)

  static func text(_ text: String) -> CrewValue { .text(Array(text.utf8)) }
  static func number(_ number: Double) -> CrewValue { .number(number.bitPattern) }

  var description: String {
    switch self {
    case .none: "nil"
    case .integer(let value): "\(value)"
    case .number(let bits): "\(Double(bitPattern: bits))"
    case .text(let bytes):
      bytes.count > 40 ? "text of \(bytes.count)" : "\"\(String(decoding: bytes, as: UTF8.self))\""
    case .token(let token): "\(token.uuidString.prefix(4))"
    case .plan(let plan): "plan of \(plan.names.count)"
    }
  }

  /// The form in which unique constraints compare the value.
  ///
  /// Values that `==` considers equal have the same form.
  var constrained: CrewValue {
    switch self {
    case .number(let bits):
      let value = Double(bitPattern: bits)
      return value == 0 ? .number(0.0) : value.isNaN ? .number(.nan) : self
    case .text(let bytes):
      return .text(String(decoding: bytes, as: UTF8.self).precomposedStringWithCanonicalMapping)
    default: return self
    }
  }

  // MARK: Values to set

  static let invalidTitle = "invalid"
  static let titles = ["", "Plain", "\u{C4}rger", "A\u{308}rger", "plain", invalidTitle, "ß B"]
  /// The value of the derived attribute `search` for each title.
  static let canonical: [String: String] = [
    "": "", "Plain": "plain", "\u{C4}rger": "arger", "plain": "plain", invalidTitle: invalidTitle,
    "ß B": "ss b",
  ]
  static let codes: [String?] = [nil, "", "a", "b", "\u{E9}", "e\u{301}", "c", "d", "e"]
  static let notes: [String?] = [
    nil, "", "n", String(repeating: "long ", count: 250), String(repeating: "\u{E9}", count: 480),
  ]
  static let numbers: [Int?] = [nil, 0, 1, .min, .max, 7]
  static let weights: [Double] = [
    0, -0.0, 1.5, .infinity, -.infinity, .nan, .leastNonzeroMagnitude,
  ]

  static func optional(_ text: String?) -> CrewValue { text.map { .text($0) } ?? .none }
  static func optional(_ number: Int?) -> CrewValue { number.map { .integer($0) } ?? .none }
}

/// A `Codable` value whose content has no order.
struct CrewPlan: Codable, Hashable, AttributeValue {
  var names: Set<String> = []
  var days: [Int: Set<Int>] = [:]

  init() {}

  /// Creates a value with `count` elements.
  ///
  /// Equal values with different capacities store their elements in different orders.
  init(count: Int, capacity: Int) {
    names.reserveCapacity(capacity)
    days.reserveCapacity(capacity)
    for number in 0..<count {
      names.insert("\(number)")
      days[number] = Set(0..<number)
    }
  }
}

enum CrewKind: Int, CaseIterable {
  case member, chief, team, job, tag, badge

  var isMember: Bool { self == .member || self == .chief }
  var fields: [CrewField] { CrewField.byKind[rawValue] }
  var links: [CrewLink] { CrewLink.byKind[rawValue] }
  /// The attributes of each unique constraint.
  var constraints: [[CrewField]] {
    switch self {
    case .member, .chief: [[.code], [.number, .weight]]
    case .job: [[.jobCode]]
    case .tag: [[.tagName]]
    case .team, .badge: []
    }
  }
}

enum CrewField: Int, CaseIterable {
  case code, number, weight, title, note, token, search, jobCount
  case budget, teamName, size, jobTitle, tagName, plan, serial, color, jobCode

  static let byKind: [[CrewField]] = [
    [.code, .number, .weight, .title, .note, .token, .search, .jobCount],
    [.code, .number, .weight, .title, .note, .token, .search, .jobCount, .budget],
    [.teamName, .size], [.jobTitle, .jobCode], [.tagName, .plan], [.serial, .color],
  ]

  var name: String {
    switch self {
    case .teamName, .tagName: "name"
    case .jobTitle: "title"
    case .jobCode: "code"
    case .serial: "stamp.serial"
    case .color: "stamp.ink.color"
    default: "\(self)"
    }
  }

  var isDerived: Bool { self == .search || self == .jobCount || self == .size }
  /// A Boolean value that indicates whether the attribute is derived from other objects.
  ///
  /// Changes to these objects are not changes to this object.
  var isCount: Bool { self == .jobCount || self == .size }

  var initial: CrewValue {
    switch self {
    case .code, .number, .note, .budget, .tagName, .token, .color, .jobCode: .none
    case .weight: .number(0.0)
    case .plan: .plan(CrewPlan())
    case .title, .search, .teamName, .jobTitle: .text("")
    case .jobCount, .size, .serial: .integer(0)
    }
  }

  /// Returns one of the values to which steps set the attribute.
  func value(_ choice: Int) -> CrewValue {
    func one<V>(_ values: [V]) -> V { values[choice % values.count] }
    switch self {
    case .code, .tagName: return .optional(one(CrewValue.codes))
    // Most jobs have no code, so that few saves fail.
    case .jobCode: return choice % 2 == 0 ? .none : .optional(one(CrewValue.codes))
    case .number, .budget: return .optional(one(CrewValue.numbers))
    case .weight: return .number(one(CrewValue.weights))
    case .title: return .text(one(CrewValue.titles))
    case .note, .color: return .optional(one(CrewValue.notes))
    case .token:
      let low = UInt8(choice % 251)
      return .token(UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, low)))
    case .plan: return .plan(CrewPlan(count: choice % 4, capacity: choice % 7 * 20))
    case .search, .teamName, .jobTitle: return .text("text \(choice % 9)")
    case .jobCount, .size, .serial: return .integer(choice % 9)
    }
  }
}

/// One side of a relationship of the random graph.
enum CrewLink: Int, CaseIterable {
  case mate, friends, team, badge, mentor, jobs, tags
  case members, reserved, owner, reserve, labels, tagMembers, tagJobs, holder

  enum Rule { case nullify, cascade, deny }

  static let byKind: [[CrewLink]] = [
    [.mate, .friends, .team, .badge, .mentor, .jobs, .tags],
    [.mate, .friends, .team, .badge, .mentor, .jobs, .tags],
    [.members, .reserved], [.owner, .reserve, .labels], [.tagMembers, .tagJobs], [.holder],
  ]

  var name: String {
    switch self {
    case .tagMembers: "members"
    case .tagJobs: "jobs"
    default: "\(self)"
    }
  }

  var isToOne: Bool {
    switch self {
    case .mate, .team, .badge, .mentor, .owner, .reserve, .holder: true
    default: false
    }
  }

  var isOrdered: Bool { self == .jobs || self == .labels }
  var rule: Rule { self == .jobs ? .cascade : self == .reserved ? .deny : .nullify }

  var inverse: CrewLink? {
    switch self {
    case .mate: .mate
    case .friends: .friends
    case .team: .members
    case .badge: .holder
    case .mentor: nil
    case .jobs: .owner
    case .tags: .tagMembers
    case .members: .team
    case .reserved: .reserve
    case .owner: .jobs
    case .reserve: .reserved
    case .labels: .tagJobs
    case .tagMembers: .tags
    case .tagJobs: .labels
    case .holder: .badge
    }
  }

  /// Returns whether the relationship may refer to objects of a class.
  func leads(to kind: CrewKind) -> Bool {
    switch self {
    case .mate, .friends, .mentor, .members, .owner, .tagMembers, .holder: kind.isMember
    case .team, .reserve: kind == .team
    case .badge: kind == .badge
    case .jobs, .reserved, .tagJobs: kind == .job
    case .tags, .labels: kind == .tag
    }
  }

  var isPair: Bool { isToOne && inverse?.isToOne == true }
  var isManyToMany: Bool { !isToOne && inverse?.isToOne == false }
}
