import Foundation
import Heartwood

extension ManagedObjectContext {
  /// Inserts or updates the objects in a text, using the default options with the given changes.
  func upsert<M: ManagedObject, Value: AttributeValue>(
    _ type: M.Type, matching keyPath: KeyPath<M, Value>, from text: String,
    _ change: (inout ImportOptions) -> Void
  ) throws -> ImportReport {
    var options = ImportOptions()
    change(&options)
    return try upsert(type, matching: keyPath, from: Data(text.utf8), options)
  }
}
