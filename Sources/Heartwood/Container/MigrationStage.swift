/// A stage in a store's migration from one model version to the next.
///
/// Most changes need no stage, because a store is migrated to the model automatically. Add a stage
/// for a change that needs code, such as combining two name attributes into one. Declare the
/// classes of each earlier version in a separate namespace:
///
/// ```swift
/// enum V1 {
///   final class Person: ManagedObject {
///     @Attribute var first: String = ""
///     @Attribute var last: String = ""
///   }
/// }
///
/// enum V2 {
///   final class Person: ManagedObject {
///     @Attribute var first: String = ""
///     @Attribute var last: String = ""
///     @Attribute var name: String = ""
///   }
/// }
///
/// var options = ContainerOptions()
/// options.stages = [
///   .custom(
///     from: Schema(version: 1, V1.Person.self), to: Schema(version: 2, V2.Person.self),
///     didMigrate: { context in
///       for person in try context.fetchBatched(FetchRequest<V2.Person>()) {
///         person.name = "\(person.first) \(person.last)"
///       }
///     })
/// ]
/// ```
public struct MigrationStage: Sendable {
  /// A closure that works with the objects of one model version.
  public typealias Body = @Sendable (_ context: ManagedObjectContext) throws -> Void

  let source: Schema?
  let target: Schema
  let willMigrate: Body?
  let didMigrate: Body?

  /// Creates a stage that performs only the automatic migration.
  ///
  /// Use this stage if a migration must pass through an intermediate version.
  ///
  /// - Parameter schema: The model after the stage.
  public static func lightweight(to schema: Schema) -> MigrationStage {
    MigrationStage(source: nil, target: schema, willMigrate: nil, didMigrate: nil)
  }

  /// Creates a stage that runs code before or after the automatic migration.
  ///
  /// When `willMigrate` or `didMigrate` returns, its unsaved changes are saved automatically. A
  /// closure that makes many changes should also save from time to time. All stages run in the same
  /// transaction, while the store is being opened.
  ///
  /// - Parameters:
  ///   - source: The model before the stage.
  ///   - target: The model after the stage. Its version must be higher than the version of
  ///     `source`.
  ///   - willMigrate: The code to run before the automatic migration, with a context that uses the
  ///     old model.
  ///   - didMigrate: The code to run after the automatic migration, with a context that uses the
  ///     new model.
  public static func custom(
    from source: Schema, to target: Schema, willMigrate: Body? = nil, didMigrate: Body? = nil
  ) -> MigrationStage {
    MigrationStage(
      source: source, target: target, willMigrate: willMigrate, didMigrate: didMigrate)
  }
}
