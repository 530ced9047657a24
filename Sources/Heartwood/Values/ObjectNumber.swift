/// The key of an object within its store: an entity number and a row ID.
///
/// ```
/// 63          48 47                                  0
/// ┌─┬───────────┬─────────────────────────────────────┐
/// │t│ entity 15 │ row 48                              │
/// └─┴───────────┴─────────────────────────────────────┘
/// ```
///
/// The highest bit (`t`) is set in temporary numbers, which identify new objects until they are
/// saved. ``TemporaryNumbers`` allocates temporary numbers. Numbers are never reused.
package struct ObjectNumber: Hashable, Comparable, Sendable {
  static let maxEntity = 1 << 15 - 1
  static let maxRow: Int64 = 1 << 48 - 1

  package let bits: Int64

  package init(bits: Int64) { self.bits = bits }

  init(entity: Int, row: Int64) { bits = Int64(entity) << 48 | row }

  init(temporary row: Int64, entity: Int) {
    bits = Int64.min | Int64(entity) << 48 | row
  }

  var isTemporary: Bool { bits < 0 }
  var entity: Int { Int(bits >> 48) & 0x7FFF }
  var row: Int64 { bits & Self.maxRow }

  package static func < (first: ObjectNumber, second: ObjectNumber) -> Bool {
    first.bits < second.bits
  }
}
