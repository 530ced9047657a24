import Foundation
import Heartwood

/// An earthquake, or a blast that shook the ground like one.
///
/// This class is the entire model: the attributes, the unique constraint and the indexes.
final class Quake: ManagedObject {
  /// The code of the network that reported it, followed by its code there, such as `nc73275410`;
  /// the second part alone is unique only within a network.
  @Attribute(preservesValueOnDeletion: true) var code: String = ""
  /// It can be negative for small quakes, and is `nil` if it was not measured.
  @Attribute var magnitude: Double? = nil
  @Attribute var place: String = ""
  @Attribute var time: Date = .distantPast
  /// The time of the last change of the report.
  @Attribute var updated: Date = .distantPast
  @Attribute var latitude: Double? = nil
  @Attribute var longitude: Double? = nil
  /// Kilometres below the surface.
  @Attribute var depth: Double? = nil
  /// The kind of event: `earthquake`, `quarry blast` and others.
  @Attribute var kind: String = ""

  override class var entity: Entity {
    Entity("Quake") {
      Unique(\Quake.code)
      Index(\Quake.time)
      Index(\Quake.magnitude)
    }
  }
}

/// The store of the quakes.
struct QuakeStore {
  let path: String

  /// The default store, without `--store`.
  static var usual: QuakeStore {
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    return QuakeStore(path: folders[0].appending(path: "quakes").path(percentEncoded: false))
  }

  /// Opens the store for a command that changes it, and creates it if necessary.
  func openForWriting() throws -> PersistentContainer {
    let url = URL(filePath: path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    return try PersistentContainer(url: url, schema: Schema(Quake.self))
  }

  /// Opens the store for a command that only reads it.
  func openForReading() throws -> PersistentContainer {
    try requireStore()
    var options = ContainerOptions()
    options.store.isReadOnly = true
    return try PersistentContainer(
      url: URL(filePath: path), schema: Schema(Quake.self), options: options)
  }

  /// Opens an existing store for a command that changes it.
  func openForChanging() throws -> PersistentContainer {
    try requireStore()
    return try openForWriting()
  }

  private func requireStore() throws {
    guard FileManager.default.fileExists(atPath: path) else {
      throw CommandError.failure("There is no store at \(path) yet. Type: quakes import FILE")
    }
  }
}
