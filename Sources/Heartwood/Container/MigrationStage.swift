/// A stage on the way of a store from one version of the model to the next.
///
/// Most changes need none: a store follows the model by itself. A stage is for what only the
/// program knows, such as how a full name is put together from two parts. The classes of earlier
/// versions are declared again where they do not get in the way:
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
  /// What a program does in a stage, with the objects of one version of the model.
  public typealias Body = @Sendable (_ context: ManagedObjectContext) throws -> Void

  let source: Schema?
  let target: Schema
  let willMigrate: Body?
  let didMigrate: Body?

  /// A stage in which the store follows the model by itself, for what has to pass through a version
  /// in between.
  ///
  /// - Parameter schema: The model after the stage.
  public static func lightweight(to schema: Schema) -> MigrationStage {
    MigrationStage(source: nil, target: schema, willMigrate: nil, didMigrate: nil)
  }

  /// A stage in which the program changes objects, before or after the store follows the model.
  ///
  /// What the bodies have changed is saved when they return; they may save in between, and should
  /// where there is much. All of it belongs to the one transaction in which the store is opened.
  ///
  /// - Parameters:
  ///   - source: The model before the stage.
  ///   - target: The model after it, of a higher version.
  ///   - willMigrate: Called with a context of the model before.
  ///   - didMigrate: Called with a context of the model after.
  public static func custom(
    from source: Schema, to target: Schema, willMigrate: Body? = nil, didMigrate: Body? = nil
  ) -> MigrationStage {
    MigrationStage(
      source: source, target: target, willMigrate: willMigrate, didMigrate: didMigrate)
  }
}
