import Foundation
import Heartwood

/// An earthquake, or a blast that shook the ground like an earthquake.
///
/// This class defines the entire model: the attributes, the unique constraint and the indexes.
final class Quake: ManagedObject {
  /// The unique code of the quake, such as `nc73275410`.
  ///
  /// The prefix, here `nc`, identifies the network that reported the quake. The rest is that
  /// network's own code, which another network may use for a different quake.
  @Attribute(preservesValueOnDeletion: true) var code: String = ""
  /// The magnitude, which can be negative for small quakes, or `nil` if it was not measured.
  @Attribute var magnitude: Double? = nil
  @Attribute var place: String = ""
  @Attribute var time: Date = .distantPast
  /// The time at which the report was last changed.
  @Attribute var updated: Date = .distantPast
  @Attribute var latitude: Double? = nil
  @Attribute var longitude: Double? = nil
  /// The depth below the surface, in kilometres.
  @Attribute var depth: Double? = nil
  /// The kind of event, such as `earthquake` or `quarry blast`.
  @Attribute var kind: String = ""

  override class var entity: Entity {
    Entity("Quake") {
      Unique(\Quake.code)
      Index(\Quake.time)
      Index(\Quake.magnitude)
      TextIndex(\Quake.place)
    }
  }
}

/// The store that contains the quakes.
struct QuakeStore {
  let path: String

  /// The default store, which is used if the option `--store` is not given.
  static var usual: QuakeStore {
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    return QuakeStore(path: folders[0].appending(path: "quakes").path(percentEncoded: false))
  }

  /// Opens the store for a command that changes it, creating the store if it does not exist.
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
  ///
  /// - Throws: ``CommandError`` if the store does not exist.
  func openForChanging() throws -> PersistentContainer {
    try requireStore()
    return try openForWriting()
  }

  private func requireStore() throws {
    guard FileManager.default.fileExists(atPath: path) else {
      throw CommandError.failure(
        "There is no store at \(path) yet. Run 'quakes import FILE' first.")
    }
  }
}
