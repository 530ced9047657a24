import Foundation
import Heartwood

/// Heartwood with default options, used through its public API.
struct HeartwoodGraph: GraphEngine {
  let options: StoreOptions

  let name = Engine.heartwood
  let description = "Heartwood, default options: durable commits, with history"

  func makeStore(in directory: String) throws -> any GraphStore {
    try HeartwoodGraphStore(directory: directory, options: options)
  }
}

private final class HeartwoodGraphStore: GraphStore {
  private let container: PersistentContainer

  init(directory: String, options: StoreOptions) throws {
    var all = ContainerOptions()
    all.store = options
    container = try PersistentContainer(
      url: URL(filePath: directory), schema: Schema(GraphItem.self, GraphQuake.self), options: all)
  }

  func insertItems(_ count: Int) throws {
    let context = container.newContext()
    try context.performAndWait {
      for row in 0..<Int64(count) {
        let item = GraphItem(context: context)
        item.i0 = row
        item.i1 = row
        item.i2 = row
        item.i3 = row
        item.i4 = row
        item.i5 = row
        item.i6 = row
        item.i7 = row
        item.i8 = row
        item.i9 = row
      }
      try context.save()
    }
  }

  func insertQuakes(_ quakes: [Quake]) throws {
    var next = 0
    let request = BatchInsertRequest<GraphQuake> { row in
      guard next < quakes.count else { return true }
      let quake = quakes[next]
      next += 1
      row.take(quake)
      return false
    }
    try container.newContext().execute(request)
  }

  func checkpoint() throws { try container.store.checkpoint() }

  func readItems() throws -> UInt64 {
    let context = container.newContext()
    return try context.performAndWait {
      var hash: UInt64 = 0
      for item in try context.fetch(FetchRequest<GraphItem>()) {
        let first = item.i0 &+ item.i1 &+ item.i2 &+ item.i3 &+ item.i4
        let second = item.i5 &+ item.i6 &+ item.i7 &+ item.i8 &+ item.i9
        hash = fold(hash, UInt64(bitPattern: first &- 3 &* second))
      }
      return hash
    }
  }

  func findQuakes(_ codes: ArraySlice<String>) throws -> UInt64 {
    let context = container.newContext()
    return try context.performAndWait {
      var hash: UInt64 = 0
      for code in codes {
        let request = FetchRequest<GraphQuake>(where: #Predicate { $0.code == code })
        guard let quake = try context.fetch(request).first else {
          throw BenchFailure("The quake \(code) was inserted, but a fetch did not find it.")
        }
        hash = quake.folded(into: hash)
      }
      return hash
    }
  }

  func lookUpQuakes(_ codes: ArraySlice<String>) throws -> UInt64 {
    let context = container.newContext()
    return try context.performAndWait {
      var hash: UInt64 = 0
      for code in codes {
        guard let quake = try context.existingObject(where: \GraphQuake.code, equals: code) else {
          throw BenchFailure("The quake \(code) was inserted, but a lookup did not find it.")
        }
        hash = quake.folded(into: hash)
      }
      return hash
    }
  }

  func findNewest(magnitude: Float, times: Int) throws -> UInt64 {
    let context = container.newContext()
    return try context.performAndWait {
      var hash: UInt64 = 0
      for _ in 0..<times {
        let request = FetchRequest<GraphQuake>(
          where: #Predicate { $0.magnitude >= magnitude },
          sort: [SortDescriptor(\.time, order: .reverse)], limit: newestQuakeCount)
        for quake in try context.fetch(request) { hash = quake.folded(into: hash) }
      }
      return hash
    }
  }

  func countQuakes(in ranges: [Range<Double>]) throws -> UInt64 {
    let context = container.newContext()
    return try context.performAndWait {
      var hash: UInt64 = 0
      for range in ranges {
        let start = Date(timeIntervalSinceReferenceDate: range.lowerBound)
        let end = Date(timeIntervalSinceReferenceDate: range.upperBound)
        let request = FetchRequest<GraphQuake>(
          where: #Predicate { $0.time >= start && $0.time < end })
        hash = fold(hash, UInt64(try context.count(for: request)))
      }
      return hash
    }
  }

  func countQuakes(containing texts: [String]) throws -> UInt64 {
    let context = container.newContext()
    return try context.performAndWait {
      var hash: UInt64 = 0
      for text in texts {
        let request = FetchRequest<GraphQuake>(where: #Predicate { $0.place.contains(text) })
        hash = fold(hash, UInt64(try context.count(for: request)))
      }
      return hash
    }
  }

  func changeQuakes(_ codes: ArraySlice<String>, depth: Float) throws {
    let context = container.newContext()
    try context.performAndWait {
      for code in codes {
        guard let quake = try context.existingObject(where: \GraphQuake.code, equals: code) else {
          throw BenchFailure("The quake \(code) was inserted, but a lookup did not find it.")
        }
        quake.depth = depth
        try context.save()
      }
    }
  }

  func deleteQuakes(_ codes: ArraySlice<String>) throws {
    let context = container.newContext()
    try context.performAndWait {
      let codes = Array(codes)
      for quake in try context.fetch(
        FetchRequest<GraphQuake>(where: #Predicate { codes.contains($0.code) }))
      {
        context.delete(quake)
      }
      try context.save()
    }
  }

  func finish() throws {
    let findings = try container.store.verify().findings
    guard findings.isEmpty else {
      throw BenchFailure("The store is damaged: \(findings.joined(separator: "; "))")
    }
    try container.store.close()
  }
}

extension BatchRow<GraphQuake> {
  /// Sets the attributes to the values of `quake`.
  func take(_ quake: Quake) {
    self[\.code] = quake.code
    self[\.place] = quake.place
    self[\.time] = Date(timeIntervalSinceReferenceDate: quake.seconds)
    self[\.magnitude] = quake.magnitude
    self[\.longitude] = quake.longitude
    self[\.latitude] = quake.latitude
    self[\.depth] = quake.depth
  }
}

extension GraphQuake {
  /// Returns the hash that results from folding the attributes into `hash`.
  @inline(__always)
  func folded(into hash: UInt64) -> UInt64 {
    let texts =
      code.utf8.reduce(0) { $0 &+ UInt64($1) } &+ place.utf8.reduce(0) { $0 &+ UInt64($1) }
    return fold(
      hash, time: time.timeIntervalSinceReferenceDate, magnitude: Double(magnitude),
      position: (Double(longitude), Double(latitude), Double(depth)), textSum: texts)
  }
}
