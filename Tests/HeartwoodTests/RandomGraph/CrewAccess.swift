import Foundation
import Heartwood

/// Reads and sets the properties of objects by their names in the reference.
enum CrewAccess {
  private static func member(_ object: ManagedObject) -> CrewMember {
    unsafeDowncast(object, to: CrewMember.self)
  }
  private static func team(_ object: ManagedObject) -> CrewTeam {
    unsafeDowncast(object, to: CrewTeam.self)
  }
  private static func job(_ object: ManagedObject) -> CrewJob {
    unsafeDowncast(object, to: CrewJob.self)
  }
  private static func tag(_ object: ManagedObject) -> CrewTag {
    unsafeDowncast(object, to: CrewTag.self)
  }
  private static func badge(_ object: ManagedObject) -> CrewBadge {
    unsafeDowncast(object, to: CrewBadge.self)
  }
  private static func chief(_ object: ManagedObject) -> CrewChief {
    unsafeDowncast(object, to: CrewChief.self)
  }

  static func kind(of object: ManagedObject) -> CrewKind? {
    switch object {
    case is CrewChief: .chief
    case is CrewMember: .member
    case is CrewTeam: .team
    case is CrewJob: .job
    case is CrewTag: .tag
    case is CrewBadge: .badge
    default: nil
    }
  }

  static func make(_ kind: CrewKind) -> ManagedObject {
    switch kind {
    case .member: CrewMember()
    case .chief: CrewChief()
    case .team: CrewTeam()
    case .job: CrewJob()
    case .tag: CrewTag()
    case .badge: CrewBadge()
    }
  }

  static func type(_ kind: CrewKind) -> ManagedObject.Type {
    switch kind {
    case .member: CrewMember.self
    case .chief: CrewChief.self
    case .team: CrewTeam.self
    case .job: CrewJob.self
    case .tag: CrewTag.self
    case .badge: CrewBadge.self
    }
  }

  // MARK: Attributes

  static func value(_ field: CrewField, of object: ManagedObject) -> CrewValue {
    switch field {
    case .code: .optional(member(object).code)
    case .number: .optional(member(object).number)
    case .weight: .number(member(object).weight)
    case .title: .text(member(object).title)
    case .note: .optional(member(object).note)
    case .token: .token(member(object).token)
    case .plan: .plan(tag(object).plan)
    case .search: .text(member(object).search)
    case .jobCount: .integer(member(object).jobCount)
    case .budget: .optional(chief(object).budget)
    case .teamName: .text(team(object).name)
    case .size: .integer(team(object).size)
    case .jobTitle: .text(job(object).title)
    case .jobCode: .optional(job(object).code.map { CrewMark.unmarked($0) })
    case .tagName: .optional(tag(object).name)
    case .serial: .integer(CrewMark.unmarked(badge(object).stamp.serial))
    case .color: .optional(badge(object).stamp.ink.color)
    }
  }

  static func set(_ field: CrewField, of object: ManagedObject, to value: CrewValue) {
    switch field {
    case .code: member(object).code = text(value)
    case .number: member(object).number = integer(value)
    case .weight: member(object).weight = number(value)
    case .title: member(object).title = text(value) ?? ""
    case .note: member(object).note = text(value)
    case .token: if case .token(let token) = value { member(object).token = token }
    case .plan: if case .plan(let plan) = value { tag(object).plan = plan }
    case .search: member(object).search = text(value) ?? ""
    case .jobCount: member(object).jobCount = integer(value) ?? 0
    case .budget: chief(object).budget = integer(value)
    case .teamName: team(object).name = text(value) ?? ""
    case .size: team(object).size = integer(value) ?? 0
    case .jobTitle: job(object).title = text(value) ?? ""
    case .jobCode: job(object).code = text(value)
    case .tagName: tag(object).name = text(value)
    case .serial: badge(object).stamp.serial = integer(value) ?? 0
    case .color:
      var stamp = badge(object).stamp
      stamp.ink.color = text(value)
      badge(object).stamp = stamp
    }
  }

  /// Returns the number of marks that `awakeFromFetch` has added to an object's value, or `nil` if
  /// it marks no value of the object.
  static func markCount(of object: ManagedObject) -> Int? {
    switch object {
    case let job as CrewJob: job.code.map { CrewMark.count($0) }
    case let badge as CrewBadge: CrewMark.count(badge.stamp.serial)
    default: nil
    }
  }

  static func text(_ value: CrewValue) -> String? {
    if case .text(let bytes) = value { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  static func integer(_ value: CrewValue) -> Int? {
    if case .integer(let value) = value { value } else { nil }
  }

  static func number(_ value: CrewValue) -> Double {
    if case .number(let bits) = value { Double(bitPattern: bits) } else { 0 }
  }

  // MARK: Relationships

  private static func list<M: ManagedObject>(_ one: M?) -> [ManagedObject] {
    if let one { [one] } else { [] }
  }

  static func targets(_ link: CrewLink, of object: ManagedObject) -> [ManagedObject] {
    switch link {
    case .mate: list(member(object).mate)
    case .friends: Array(member(object).friends)
    case .team: list(member(object).team)
    case .badge: list(member(object).badge)
    case .mentor: list(member(object).mentor)
    case .jobs: member(object).jobs
    case .tags: Array(member(object).tags)
    case .members: Array(team(object).members)
    case .reserved: Array(team(object).reserved)
    case .owner: list(job(object).owner)
    case .reserve: list(job(object).reserve)
    case .labels: job(object).labels
    case .tagMembers: Array(tag(object).members)
    case .tagJobs: Array(tag(object).jobs)
    case .holder: list(badge(object).holder)
    }
  }

  static func set(_ link: CrewLink, of object: ManagedObject, to targets: [ManagedObject]) {
    switch link {
    case .mate: member(object).mate = targets.first.map { member($0) }
    case .friends: member(object).friends = Set(targets.map { member($0) })
    case .team: member(object).team = targets.first.map { team($0) }
    case .badge: member(object).badge = targets.first.map { badge($0) }
    case .mentor: member(object).mentor = targets.first.map { member($0) }
    case .jobs: member(object).jobs = targets.map { job($0) }
    case .tags: member(object).tags = Set(targets.map { tag($0) })
    case .members: team(object).members = Set(targets.map { member($0) })
    case .reserved: team(object).reserved = Set(targets.map { job($0) })
    case .owner: job(object).owner = targets.first.map { member($0) }
    case .reserve: job(object).reserve = targets.first.map { team($0) }
    case .labels: job(object).labels = targets.map { tag($0) }
    case .tagMembers: tag(object).members = Set(targets.map { member($0) })
    case .tagJobs: tag(object).jobs = Set(targets.map { job($0) })
    case .holder: badge(object).holder = targets.first.map { member($0) }
    }
  }

  /// Adds or removes a member of a to-many relationship in place, or sets or clears a reference.
  static func toggle(_ link: CrewLink, of object: ManagedObject, _ other: ManagedObject) {
    switch link {
    case .friends: toggle(member(object).$friends, member(other))
    case .tags: toggle(member(object).$tags, tag(other))
    case .members: team(object).members.formSymmetricDifference([member(other)])
    case .reserved: team(object).reserved.formSymmetricDifference([job(other)])
    case .tagMembers: toggle(tag(object).$members, member(other))
    case .tagJobs: tag(object).jobs.formSymmetricDifference([job(other)])
    case .jobs: toggle(member(object).$jobs, job(other))
    case .labels:
      if let position = job(object).labels.firstIndex(of: tag(other)) {
        job(object).labels.remove(at: position)
      } else {
        job(object).labels.append(tag(other))
      }
    case .mate, .team, .badge, .mentor, .owner, .reserve, .holder:
      let isSet = targets(link, of: object).contains(other)
      set(link, of: object, to: isSet ? [] : [other])
    }
  }

  private static func toggle<Other>(_ members: ToMany<Other>.Members, _ other: Other) {
    if !members.remove(other) { members.insert(other) }
  }

  private static func toggle<Other>(_ members: OrderedToMany<Other>.Members, _ other: Other) {
    if !members.remove(other) { members.append(other) }
  }

  /// Returns all objects of a context, grouped by class.
  static func all(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    var all: [ManagedObject] = try context.fetch(FetchRequest<CrewMember>())
    all += try context.fetch(FetchRequest<CrewTeam>())
    all += try context.fetch(FetchRequest<CrewJob>())
    all += try context.fetch(FetchRequest<CrewTag>())
    all += try context.fetch(FetchRequest<CrewBadge>())
    return all
  }
}
