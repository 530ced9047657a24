import Foundation
import Heartwood

extension [Feed.Feature] {
  /// Inserts all quakes in one transaction, so that other programs see either all of them or none.
  func insert(into context: ManagedObjectContext, _ progress: ProgressLine) throws {
    // Use a policy that updates a stored quake if an imported row has the same code. With the
    // default policy, the unique constraint would cause the import to fail.
    context.mergePolicy = .mergeByPropertyObjectTrump
    var next = 0
    let request = BatchInsertRequest<Quake> { row in
      guard next < count else { return true }
      self[next].fill(row)
      next += 1
      if next % 1000 == 0 { progress.show("importing \(next.grouped) of \(count.grouped)") }
      return false
    }
    try context.execute(request)
  }
}

extension Feed.Feature {
  /// The unique code of the quake.
  var code: String { properties.net + properties.code }

  /// Sets the attributes of a row to the values in the feed.
  fileprivate func fill(_ row: BatchRow<Quake>) {
    row[\.code] = code
    row[\.magnitude] = properties.mag
    row[\.place] = properties.place ?? ""
    row[\.time] = Date(timeIntervalSince1970: properties.time / 1000)
    row[\.updated] = Date(timeIntervalSince1970: (properties.updated ?? properties.time) / 1000)
    row[\.longitude] = coordinate(0)
    row[\.latitude] = coordinate(1)
    row[\.depth] = coordinate(2)
    row[\.kind] = properties.type ?? ""
  }

  private func coordinate(_ index: Int) -> Double? {
    guard let geometry, index < geometry.coordinates.count else { return nil }
    return geometry.coordinates[index]
  }
}
