/// The number by which the reference identifies an object, in every context and in the store.
typealias CrewTagNumber = Int

/// An object in the reference, with its values and the related objects of each relationship.
struct CrewRow: Equatable {
  let kind: CrewKind
  /// The values, indexed by attribute; attributes that the class does not have are `none`.
  var values: [CrewValue]
  /// The related objects, indexed by relationship; a to-one relationship has at most one object.
  var links: [[Int]]

  static let noLinks = [[Int]](repeating: [], count: CrewLink.allCases.count)
  static let noValues = [CrewValue](repeating: .none, count: CrewField.allCases.count)

  init(_ kind: CrewKind) {
    self.kind = kind
    values = Self.noValues
    for field in kind.fields { values[field.rawValue] = field.initial }
    links = Self.noLinks
  }

  subscript(_ field: CrewField) -> CrewValue {
    get { values[field.rawValue] }
    set { values[field.rawValue] = newValue }
  }

  subscript(_ link: CrewLink) -> [Int] {
    get { links[link.rawValue] }
    set { links[link.rawValue] = newValue }
  }

  /// Returns whether a relationship has the same members in both rows.
  ///
  /// The order is compared only if the relationship is ordered.
  func has(_ link: CrewLink, like other: CrewRow) -> Bool {
    let (own, others) = (self[link], other[link])
    if own == others { return true }
    guard !link.isOrdered, own.count == others.count else { return false }
    return Set(own) == Set(others)
  }

  /// Returns the names of the properties in which two rows differ, ignoring derived attributes.
  func differences(from other: CrewRow) -> [String] {
    var names: [String] = []
    for field in kind.fields where !field.isDerived && self[field] != other[field] {
      names.append(field.name)
    }
    for link in kind.links where !has(link, like: other) { names.append(link.name) }
    return names
  }

  /// Returns whether all properties of two rows are equal, ignoring derived attributes.
  func isSame(as other: CrewRow) -> Bool {
    for field in kind.fields where !field.isDerived && self[field] != other[field] {
      return false
    }
    for link in kind.links where !has(link, like: other) { return false }
    return true
  }
}

/// Models the objects of a context and their relationships, as the guarantees require.
struct CrewGraph {
  var rows: [Int: CrewRow] = [:]

  subscript(_ tag: Int) -> CrewRow? {
    get { rows[tag] }
    set { rows[tag] = newValue }
  }

  func targets(_ tag: Int, _ link: CrewLink) -> [Int] { rows[tag]?[link] ?? [] }

  // MARK: Relationships

  private mutating func drop(_ member: Int, from tag: Int, _ link: CrewLink) {
    rows[tag]?.links[link.rawValue].removeAll { $0 == member }
  }

  private mutating func add(_ member: Int, to tag: Int, _ link: CrewLink) {
    if rows[tag]?.links[link.rawValue].contains(member) == false {
      rows[tag]?.links[link.rawValue].append(member)
    }
  }

  /// Ends the relationship between two objects on both sides.
  mutating func separate(_ tag: Int, _ link: CrewLink, _ other: Int) {
    drop(other, from: tag, link)
    if let inverse = link.inverse { drop(tag, from: other, inverse) }
  }

  /// Relates two objects on both sides.
  ///
  /// If a side can have only one related object, the previous object is removed first.
  mutating func join(_ tag: Int, _ link: CrewLink, _ other: Int) {
    if targets(tag, link).contains(other) { return }
    if link.isToOne { for old in targets(tag, link) { separate(tag, link, old) } }
    if let inverse = link.inverse {
      if inverse.isToOne { for old in targets(other, inverse) { separate(other, inverse, old) } }
      add(tag, to: other, inverse)
    }
    add(other, to: tag, link)
  }

  /// Replaces all members of a relationship; if it is ordered, also sets their order.
  mutating func set(_ tag: Int, _ link: CrewLink, to members: [Int]) {
    for old in targets(tag, link) where !members.contains(old) { separate(tag, link, old) }
    for member in members { join(tag, link, member) }
    if link.isOrdered { rows[tag]?[link] = members }
  }

  // MARK: Deleting

  /// Deletes an object and applies the delete rules, except `deny`, which the save checks.
  ///
  /// - Parameter gone: A closure that is called for each deleted object.
  mutating func delete(
    _ tag: Int, _ deleted: inout Set<Int>, whileDeleting: Set<Int> = [],
    gone: (inout CrewGraph, Int) -> Void
  ) {
    guard let row = rows[tag], !deleted.contains(tag), !whileDeleting.contains(tag) else { return }
    for link in row.kind.links {
      let others = targets(tag, link)
      switch link.rule {
      case .deny: continue
      case .cascade:
        for other in others {
          delete(other, &deleted, whileDeleting: whileDeleting.union([tag]), gone: gone)
        }
      case .nullify: break
      }
      for other in others { separate(tag, link, other) }
    }
    deleted.insert(tag)
    gone(&self, tag)
  }

  /// Removes an object from the graph and from the relationships of other objects.
  mutating func forget(_ tag: Int) {
    guard let row = rows[tag] else { return }
    for link in row.kind.links where link.inverse != nil {
      for other in row[link] { separate(tag, link, other) }
    }
    rows[tag] = nil
  }

  /// Clears the references to missing rows in rows that differ from the rows of an earlier graph.
  ///
  /// A reference without an inverse is checked only in rows that are written for another reason
  ///
  mutating func clearLostMentors(changedSince earlier: CrewGraph) {
    let known = self
    for (tag, row) in known.rows where row != earlier[tag] {
      self[tag]?[.mentor].removeAll { known[$0] == nil }
    }
  }

  /// Returns the related objects, without targets whose rows are missing.
  ///
  /// Only a reference without an inverse can lead to a missing row.
  func shown(_ row: CrewRow, _ link: CrewLink) -> [Int] {
    link.inverse == nil ? row[link].filter { rows[$0] != nil } : row[link]
  }

  // MARK: Derived values

  /// Computes the derived attributes of all objects, as a save does.
  mutating func derive() {
    for (tag, row) in rows {
      var new = row
      switch row.kind {
      case .member, .chief:
        new[.jobCount] = .integer(row[.jobs].count)
        new[.search] = Self.canonical(row[.title])
      case .team: new[.size] = .integer(row[.members].count)
      case .job, .tag, .badge: continue
      }
      if new.values != row.values { rows[tag] = new }
    }
  }

  private static func canonical(_ title: CrewValue) -> CrewValue {
    guard case .text(let bytes) = title else { return .none }
    let text = String(decoding: bytes, as: UTF8.self)
    return CrewValue.canonical[text].map { .text($0) } ?? .none
  }

  /// Returns an object's values for a unique constraint, or `nil` if any value is missing.
  func key(_ tag: Int, _ constraint: [CrewField]) -> [CrewValue]? {
    guard let row = rows[tag] else { return nil }
    let values = constraint.map { row[$0].constrained }
    return values.contains(.none) ? nil : values
  }
}
