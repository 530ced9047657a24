import Foundation
import Heartwood
import SQLiteWriter

/// An export of a store's objects to a SQLite file.
struct SQLiteExport {
  private let objects: StoredObjects
  private let plan: SQLiteExportPlan
  private let progress: (Int) -> Void

  /// Creates an export of the objects of one generation.
  ///
  /// - Parameter progress: A closure that is called with the number of rows written so far.
  init(_ objects: StoredObjects, progress: @escaping (Int) -> Void) {
    self.objects = objects
    self.progress = progress
    plan = SQLiteExportPlan(objects.entities)
  }

  /// Writes a new file, and returns the number of objects.
  ///
  /// - Throws: ``SQLiteWriterError`` if the file already exists or cannot be written, or any error
  ///   from reading the store.
  /// - Complexity: Memory use does not grow with the number of objects.
  func write(to path: String) throws -> Int {
    let writer = try SQLiteFileWriter(path: path)
    var count = 0
    for table in plan.tables {
      let rowCount = try write(table, to: writer)
      if table.entity.superentity == nil { count += rowCount }
    }
    for table in plan.memberTables { try write(table, to: writer) }
    for view in plan.views { try writer.view(view.name, select: view.query) }
    try writer.finish()
    return count
  }

  private func write(
    _ table: SQLiteExportPlan.Table, to writer: SQLiteFileWriter
  ) throws -> Int {
    let rows = try writer.table(table.definition)
    var count = 0
    let columns = [nil] + table.paths.map(Optional.some)
    try objects.forEachRow(of: ObjectQuery(entity: table.entity.name), columns) { cells in
      guard case .object(let id) = cells[0] else { return }
      try rows.append(rowid: plan.number(of: id)) { row in
        if table.namesEntity { row.append(text: id.entityName ?? "") }
        for cell in cells.dropFirst() { try append(cell, to: &row) }
      }
      count += 1
      if count % 1000 == 0 { progress(count) }
    }
    return count
  }

  private func append(_ value: ObjectValue, to row: inout SQLiteRow) throws {
    switch value {
    case .null, .objects: row.appendNull()
    // Check that the object exists, because a relationship without an inverse can refer to an
    // object that was deleted.
    case .object(let id):
      if try objects.exists(id) {
        row.append(integer: plan.number(of: id))
      } else {
        row.appendNull()
      }
    case .value(let stored, let type):
      switch stored {
      case .bool(let value): row.append(integer: value ? 1 : 0)
      case .integer(let value): row.append(integer: value)
      // Store NaN as null, because SQLite cannot store NaN.
      case .double(bits: let bits) where Double(bitPattern: bits).isNaN: row.appendNull()
      case .double(bits: let bits): row.append(real: Double(bitPattern: bits))
      case .bytes(let bytes) where type != .json: row.append(blob: bytes)
      default: row.append(text: value.text ?? "")
      }
    }
  }

  private func write(
    _ table: SQLiteExportPlan.MemberTable, to writer: SQLiteFileWriter
  ) throws {
    let rows = try writer.table(table.definition)
    try objects.forEachRow(of: ObjectQuery(entity: table.entity), [nil]) { cells in
      guard case .object(let owner) = cells[0] else { return }
      var position: Int64 = 0
      for member in try objects.members(of: owner, table.relationship)
      where try objects.exists(member) {
        try rows.append { row in
          row.append(integer: plan.number(of: owner))
          if table.isOrdered { row.append(integer: position) }
          row.append(integer: plan.number(of: member))
        }
        position += 1
      }
    }
  }
}
