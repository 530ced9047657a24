import Foundation
import Heartwood

/// An earthquake, or a blast that shook the ground like one.
///
/// This class is the whole model: what its attributes are, which of them no two quakes share, and
/// which are looked for often.
final class Quake: ManagedObject {
  /// The network that reported it and the code it has there, such as `nc73275410`; a code alone is
  /// unique within its network only.
  @Attribute(preservesValueOnDeletion: true) var code: String = ""
  /// Small ones can be below 0; `nil` if it was not measured.
  @Attribute var magnitude: Double? = nil
  @Attribute var place: String = ""
  @Attribute var time: Date = .distantPast
  /// When the report was changed last.
  @Attribute var updated: Date = .distantPast
  @Attribute var latitude: Double? = nil
  @Attribute var longitude: Double? = nil
  /// Kilometres below the surface.
  @Attribute var depth: Double? = nil
  /// What it was: `earthquake`, `quarry blast` and others.
  @Attribute var kind: String = ""

  override class var entity: Entity {
    Entity("Quake") {
      Unique(\Quake.code)
      Index(\Quake.time)
      Index(\Quake.magnitude)
    }
  }
}

/// The folder that keeps the quakes.
struct QuakeStore {
  let path: String

  /// Where quakes are kept unless `--store` says otherwise.
  static var usual: QuakeStore {
    let folders = FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask)
    return QuakeStore(path: folders[0].appending(path: "quakes").path(percentEncoded: false))
  }

  /// Opens the store for a command that changes it, and makes it if there is none.
  func openForWriting() throws -> PersistentContainer {
    let url = URL(filePath: path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    return try PersistentContainer(url: url, schema: Schema(Quake.self))
  }

  /// Opens the store for a command that only looks at it.
  func openForReading() throws -> PersistentContainer {
    try requireThere()
    var options = ContainerOptions()
    options.store.readOnly = true
    return try PersistentContainer(
      url: URL(filePath: path), schema: Schema(Quake.self), options: options)
  }

  /// Opens the store for a command that changes what is there already.
  func openForChanging() throws -> PersistentContainer {
    try requireThere()
    return try openForWriting()
  }

  private func requireThere() throws {
    guard FileManager.default.fileExists(atPath: path) else {
      throw Complaint.refused("There are no quakes at \(path) yet. Type: quakes import FILE")
    }
  }
}
