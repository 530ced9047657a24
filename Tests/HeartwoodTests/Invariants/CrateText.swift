import Heartwood

/// The content of contexts as text, for comparisons and messages.
enum CrateText {
  static func name(_ object: ManagedObject?) -> String {
    switch object {
    case let crate as SealedCrate: "S\(crate.serial)"
    case let crate as Crate: "C\(crate.serial)"
    case let item as CrateItem: "I\(item.serial)"
    case let tag as CrateTag: "T\(tag.serial)"
    case let lock as CrateLock: "L\(lock.serial)"
    default: "nil"
    }
  }

  /// Returns the names of objects in their order, and marks deleted objects.
  static func list(_ objects: some Sequence<ManagedObject>) -> String {
    "[\(names(objects).joined(separator: ","))]"
  }

  /// Returns the sorted names of objects, and marks deleted objects.
  static func set(_ objects: some Sequence<ManagedObject>) -> String {
    "{\(names(objects).sorted().joined(separator: ","))}"
  }

  private static func names(_ objects: some Sequence<ManagedObject>) -> [String] {
    objects.map { name($0) + ($0.isDeleted ? "(deleted)" : "") }
  }

  /// Returns the inserted, updated and deleted objects of a context.
  static func changes(_ context: ManagedObjectContext) -> String {
    "inserted \(set(context.insertedObjects)), updated \(set(context.updatedObjects)), "
      + "deleted \(set(context.deletedObjects))"
  }

  /// Returns an object's values and members, except the target of `Crate.favourite`, which R-18
  /// allows to be deleted, and the marks that `awakeFromFetch` adds.
  static func line(_ object: ManagedObject, withDerived: Bool) -> String {
    guard let common = object as? any CrateObject else { return "?" }
    var line = "\(name(object)) code=\(common.code ?? "-") number=\(common.number)"
    line += " text=\(CrewMark.unmarked(common.text))"
    switch object {
    case let crate as Crate:
      line += " seal=\((crate as? SealedCrate)?.seal ?? -1)"
      line += " items=\(list(crate.items)) tags=\(set(crate.tags))"
      if withDerived { line += " itemCount=\(crate.itemCount) total=\(crate.total)" }
    case let item as CrateItem:
      line += " crate=\(name(item.crate)) tags=\(list(item.tags))"
      if withDerived { line += " crateText=\(item.crateText ?? "-")" }
    case let tag as CrateTag:
      line += " items=\(list(tag.items)) crates=\(set(tag.crates)) friends=\(set(tag.friends))"
      line += " mate=\(name(tag.mate)) parent=\(name(tag.parent)) children=\(set(tag.children))"
      line += " lock=\(name(tag.lock))"
    case let lock as CrateLock: line += " tag=\(name(lock.tag))"
    default: break
    }
    return line
  }

  static func objects(_ context: ManagedObjectContext) throws -> [ManagedObject] {
    var objects: [ManagedObject] = try context.fetch(FetchRequest<Crate>())
    objects += try context.fetch(FetchRequest<CrateItem>()) as [ManagedObject]
    objects += try context.fetch(FetchRequest<CrateTag>()) as [ManagedObject]
    objects += try context.fetch(FetchRequest<CrateLock>()) as [ManagedObject]
    return objects
  }

  /// Fetches all objects of a context, and returns their sorted lines.
  static func lines(_ context: ManagedObjectContext, withDerived: Bool) throws -> [String] {
    let lines = try objects(context).map { line($0, withDerived: withDerived) }.sorted()
    try expect(context.faultError == nil, "rows can be read", "\(context.faultError as Any)")
    return lines
  }

  /// Returns the lines that only one of two lists contains.
  static func difference(_ expected: [String], _ found: [String]) -> String {
    let lost = Set(expected).subtracting(found).sorted().map { "\n    - \($0)" }
    let added = Set(found).subtracting(expected).sorted().map { "\n    + \($0)" }
    return (lost + added).joined()
  }
}

struct InvariantViolation: Error, CustomStringConvertible {
  /// The violated invariant, which shrinking preserves.
  let invariant: String
  let details: String

  var description: String { "violates “\(invariant)”: \(details)" }
}

/// Throws an error if an invariant does not hold.
func expect(
  _ holds: Bool, _ invariant: String, _ details: @autoclosure () -> String = ""
) throws {
  if !holds { throw InvariantViolation(invariant: invariant, details: details()) }
}
