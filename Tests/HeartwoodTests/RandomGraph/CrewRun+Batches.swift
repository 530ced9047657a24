import Foundation
import Heartwood
import HeartwoodTestSupport

extension CrewRun {
  /// Executes a batch request, and compares the store with the reference.
  ///
  /// The contexts of the run do not change.
  func execute(_ workspace: CrewWorkspace, _ step: CrewStep) throws {
    var reference = CrewBatch(graph: store.graph, policy: workspace.policy)
    var expected: CrewFailure?
    var result = BatchResult?.none
    do {
      switch step.operation {
      case .batchInsert: result = try insertBatch(workspace, step, &reference, &expected)
      case .batchUpdate: result = try updateBatch(workspace, step, &reference, &expected)
      default: result = try deleteBatch(workspace, step, &reference, &expected)
      }
    } catch let error as ObjectGraphError {
      record("  throws \(error)")
      guard error.kind.description == expected?.rawValue else {
        throw CrewMismatch("the batch throws \(error) instead of \(String(describing: expected))")
      }
      count("batch refused")
      try expectStored("after a batch that failed")
      return try expectHistory(CrewDifference(), isExact: true, "after a batch that failed")
    }
    guard expected == nil, let result else {
      throw CrewMismatch("the batch should throw \(String(describing: expected))")
    }
    try apply(reference, result)
  }

  private func apply(_ reference: CrewBatch, _ result: BatchResult) throws {
    guard result.objectIDs.count == reference.touched.count || reference.isDeletion else {
      throw CrewMismatch("the batch names \(result.objectIDs.count) rows of \(reference.touched)")
    }
    if reference.isUpdate {
      let (named, expected) = (Set(result.objectIDs), reference.touched.compactMap { ids[$0] })
      guard named == Set(expected) else { throw CrewMismatch("the batch names \(named)") }
    }
    let isInsertion = !reference.isDeletion && !reference.isUpdate
    for (tag, id) in zip(reference.touched, result.objectIDs) where isInsertion {
      if let known = ids[tag], known != id { throw CrewMismatch("\(tag) has another ID") }
      ids[tag] = id
      tagsByID[id] = tag
    }
    var graph = reference.graph
    let found = reference.tokens.isEmpty ? CrewGraph() : try stored()
    for tag in reference.tokens where graph[tag] != nil {
      guard let token = found[tag]?[.token] else { continue }
      guard tokens.insert(token).inserted else {
        throw CrewMismatch("two rows were created with the same token")
      }
      graph[tag]?[.token] = token
    }
    let difference = store.commit(graph)
    try expectStored("after a batch")
    try expectHistory(difference, isExact: true, "after a batch")
  }

  // MARK: Insertions

  private func insertBatch(
    _ workspace: CrewWorkspace, _ step: CrewStep, _ reference: inout CrewBatch,
    _ expected: inout CrewFailure?
  ) throws -> BatchResult {
    var random = SeededGenerator(seed: UInt64(step.a))
    let kind: CrewKind = step.b % 2 == 0 ? .member : .tag
    var rows: [[CrewField: CrewValue]] = []
    for _ in 0...random.below(3) {
      var row: [CrewField: CrewValue] = [:]
      for field in kind.fields where !field.isDerived && field != .token {
        if random.isTrue(in256: 120) { row[field] = batched(field, random.below(5040)) }
      }
      rows.append(row)
    }
    record("  \(kind) \(rows)")
    if reference.graph.rows.count >= 30 { rows = [] }
    for row in rows where expected == nil { expected = reference.insert(kind, row, newTag()) }
    var left = rows[...]
    if kind == .member {
      var request = BatchInsertRequest<CrewMember> { row in
        guard let next = left.popFirst() else { return true }
        for (field, value) in next { CrewBatch.set(field, value, &row) }
        return false
      }
      request.resultType = .objectIDs
      return try workspace.context.execute(request)
    }
    var request = BatchInsertRequest<CrewTag> { row in
      guard let next = left.popFirst() else { return true }
      if let name = next[.tagName] { row[\.name] = CrewAccess.text(name) }
      if case .plan(let plan) = next[.plan] { row[\.plan] = plan }
      return false
    }
    request.resultType = .objectIDs
    return try workspace.context.execute(request)
  }

  /// Returns a value for a batch request to set.
  ///
  /// Values that a later save would reject are excluded, because a save also validates objects
  /// whose values were changed and then restored.
  private func batched(_ field: CrewField, _ choice: Int) -> CrewValue {
    let value = field.value(choice)
    return value == .text(CrewValue.invalidTitle) ? .text("") : value
  }

  // MARK: Updates

  private func updateBatch(
    _ workspace: CrewWorkspace, _ step: CrewStep, _ reference: inout CrewBatch,
    _ expected: inout CrewFailure?
  ) throws -> BatchResult {
    let number = step.a % 5
    let fields: [CrewField] = [.title, .number, .code, .note, .tagName]
    let field = fields[step.b % fields.count]
    let value = batched(field, step.c)
    if field == .tagName {
      record("  all tags: \(value)")
      expected = reference.update({ $0.kind == .tag }, field, value)
      var request = BatchUpdateRequest<CrewTag> { $0[\.name] = CrewAccess.text(value) }
      request.resultType = .objectIDs
      return try workspace.context.execute(request)
    }
    record("  members of more than \(number) jobs: \(field) = \(value)")
    expected = reference.update(
      { $0.kind.isMember && $0[.jobs].count > number - 2 }, field, value)
    let least = number - 2
    var request = BatchUpdateRequest<CrewMember>(where: #Predicate { $0.jobs.count > least }) {
      CrewBatch.set(field, value, &$0)
    }
    request.resultType = .objectIDs
    return try workspace.context.execute(request)
  }

  // MARK: Deletions

  private func deleteBatch(
    _ workspace: CrewWorkspace, _ step: CrewStep, _ reference: inout CrewBatch,
    _ expected: inout CrewFailure?
  ) throws -> BatchResult {
    reference.isDeletion = true
    if step.b % 2 == 0 {
      record("  teams with fewer than \(step.a % 4) members")
      let limit = step.a % 4
      let rows = store.graph.rows
      expected = reference.delete(
        rows.keys.filter { rows[$0]?.kind == .team && rows[$0]?[.members].count ?? 0 < limit })
      return try workspace.context.execute(
        BatchDeleteRequest<CrewTeam>(where: #Predicate { $0.members.count < limit }))
    }
    let members = store.graph.rows.filter { $0.value.kind == .member }.keys.sorted()
    guard let tag = one(members, step.a), let id = ids[tag] else {
      return try workspace.context.execute(BatchDeleteRequest<CrewMember>(objectIDs: []))
    }
    record("  deletes the row \(tag)")
    expected = reference.delete([tag])
    return try workspace.context.execute(BatchDeleteRequest<CrewMember>(objectIDs: [id]))
  }
}

/// Models the execution of a batch request.
struct CrewBatch {
  var graph: CrewGraph
  let policy: MergePolicy.Each
  /// The rows that the request inserts, changes or deletes, in order.
  private(set) var touched: [Int] = []
  /// The rows for which the request generates a token; the reference cannot know its value.
  private(set) var tokens: Set<Int> = []
  var isDeletion = false
  private(set) var isUpdate = false

  init(graph: CrewGraph, policy: MergePolicy.Each) {
    self.graph = graph
    self.policy = policy
  }

  static func set<M: CrewMember>(_ field: CrewField, _ value: CrewValue, _ row: inout BatchRow<M>) {
    switch field {
    case .code: row[\M.code] = CrewAccess.text(value)
    case .number: row[\M.number] = CrewAccess.integer(value)
    case .weight: row[\M.weight] = CrewAccess.number(value)
    case .title: row[\M.title] = CrewAccess.text(value) ?? ""
    case .note: row[\M.note] = CrewAccess.text(value)
    default: break
    }
  }

  mutating func insert(
    _ kind: CrewKind, _ values: [CrewField: CrewValue], _ tag: Int
  ) -> CrewFailure? {
    var row = CrewRow(kind)
    for (field, value) in values { row[field] = value }
    graph[tag] = row
    let met = meets(tag, kind)
    guard let first = met.first else {
      touched.append(tag)
      if kind.isMember { tokens.insert(tag) }
      return nil
    }
    graph[tag] = nil
    if policy == .error || met.count > 1 || graph[first]?.kind != kind {
      return .constraintConflict
    }
    if policy.keepsStore { return nil }
    touched.append(first)
    for field in kind.fields where !field.isDerived {
      if field == .token {
        if policy == .overwrite { tokens.insert(first) }
      } else if policy == .overwrite || values[field] != nil {
        graph[first]?[field] = row[field]
      }
    }
    return meets(first, kind).isEmpty ? nil : .constraintConflict
  }

  private func meets(_ tag: Int, _ kind: CrewKind) -> Set<Int> {
    var met: Set<Int> = []
    for constraint in kind.constraints {
      guard let key = graph.key(tag, constraint) else { continue }
      for (other, row) in graph.rows
      where other != tag && row.kind.constraints.contains(constraint) {
        if graph.key(other, constraint) == key { met.insert(other) }
      }
    }
    return met
  }

  mutating func update(
    _ holds: (CrewRow) -> Bool, _ field: CrewField, _ value: CrewValue
  ) -> CrewFailure? {
    isUpdate = true
    touched = graph.rows.filter { holds($0.value) }.keys.sorted()
    for tag in touched { graph[tag]?[field] = value }
    let clashes = touched.contains { tag in
      graph[tag].map { !meets(tag, $0.kind).isEmpty } ?? false
    }
    return clashes ? .constraintConflict : nil
  }

  mutating func delete(_ tags: [Int]) -> CrewFailure? {
    touched = tags
    let before = graph
    var gone: Set<Int> = []
    var waiting = touched
    while let tag = waiting.popLast() {
      if gone.insert(tag).inserted { waiting += graph.targets(tag, .jobs) }
    }
    let isDenied = gone.contains { tag in
      graph.targets(tag, .reserved).contains { !gone.contains($0) }
    }
    for tag in gone { graph.forget(tag) }
    graph.clearLostMentors(changedSince: before)
    return isDenied ? .deniedDelete : nil
  }
}
