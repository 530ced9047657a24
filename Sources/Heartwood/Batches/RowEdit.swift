/// A request that edits the rows of entities that have no class, enforcing the model's rules.
///
/// Unique constraints, delete rules, derived attributes, indexes and the history work as in a save.
struct RowEdit: ExecutableBatch {
  let phrase: String
  let body: (inout BatchRun) throws -> Void

  var objectType: ManagedObject.Type { ManagedObject.self }
  var resultType: BatchResultType { .statusOnly }
  var changesRelationships: Bool { true }

  func execute(_ run: inout BatchRun) throws { try body(&run) }
}
