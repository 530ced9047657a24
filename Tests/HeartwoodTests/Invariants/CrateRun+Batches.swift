import Foundation
import Heartwood

/// Steps that execute batch requests.
extension CrateRun {
  func execute(_ workspace: CrateWorkspace) throws {
    guard workspace.isRoot else { return }
    let context = workspace.context
    let number = below(4)
    let before = try stored()
    do {
      switch below(6) {
      case 0, 1: try updateBatch(workspace, number)
      case 2, 3: try deleteBatch(workspace, number)
      default:
        if isTrue(onceIn: 2) {
          try insertBatch(context, number, CrateItem.self, \.serial, \.number, \.text, \.code)
        } else {
          try insertBatch(context, number, SealedCrate.self, \.serial, \.number, \.text, \.code)
        }
      }
    } catch let error as ObjectGraphError {
      record("  throws \(error)")
      let isExpected = error.kind == .constraintConflict || error.kind == .deniedDelete
      try expect(isExpected, "batch requests throw only for conflicts", "\(error)")
      let after = try stored()
      return try expect(
        after == before, "a failed batch request changes nothing",
        CrateText.difference(before, after))
    }
    try checkStore()
    noteCommit(by: nil)
  }

  private func updateBatch(_ workspace: CrateWorkspace, _ number: Int) throws {
    guard isTrue(onceIn: 2) else {
      record("\(workspace.name): batch update of items with number \(number)")
      try workspace.context.execute(
        BatchUpdateRequest<CrateItem>(where: #Predicate { $0.number == number }) {
          $0[\.number] = ($0[\.number] + 1) % 4
          $0[\.text] = "b"
        })
      return
    }
    record("\(workspace.name): batch update of crates with number \(number)")
    try workspace.context.execute(
      BatchUpdateRequest<Crate>(where: #Predicate { $0.number == number }) {
        $0[\.code] = "code \(number)"
        $0[\.text] = "u"
      })
  }

  private func deleteBatch(_ workspace: CrateWorkspace, _ number: Int) throws {
    let context = workspace.context
    switch below(4) {
    case 0:
      record("\(workspace.name): batch deletion of crates with number \(number)")
      try context.execute(
        BatchDeleteRequest<Crate>(where: #Predicate { $0.number == number }))
    case 1:
      record("\(workspace.name): batch deletion of items in crates with number \(number)")
      try context.execute(
        BatchDeleteRequest<CrateItem>(where: #Predicate { $0.crate?.number == number }))
    default:
      record("\(workspace.name): batch deletion of tags with number \(number)")
      try context.execute(
        BatchDeleteRequest<CrateTag>(where: #Predicate { $0.number == number }))
    }
  }

  private func insertBatch<M: ManagedObject>(
    _ context: ManagedObjectContext, _ number: Int, _ type: M.Type, _ serialPath: KeyPath<M, Int>,
    _ numberPath: KeyPath<M, Int>, _ textPath: KeyPath<M, String>, _ codePath: KeyPath<M, String?>
  ) throws {
    let (count, text) = (1 + below(3), self.text())
    let rows = (0..<count).map { _ in (serial: nextSerial(), code: code()) }
    record("batch insertion of \(type) with number \(number), \(text): \(rows)")
    var left = rows[...]
    try context.execute(
      BatchInsertRequest<M> { row in
        guard let next = left.popFirst() else { return true }
        row[serialPath] = next.serial
        row[numberPath] = number
        row[textPath] = text
        if let code = next.code { row[codePath] = code }
        return false
      })
  }
}
