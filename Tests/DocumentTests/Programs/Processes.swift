import Foundation
import Heartwood

func open(_ url: URL, _ schema: Schema) throws -> PersistentContainer {
  var options = ContainerOptions()
  options.store.name = "importer"
  options.store.busyTimeout = .seconds(30)
  return try PersistentContainer(url: url, schema: schema, options: options)
}

func sleep(_ container: PersistentContainer) throws {
  try container.suspend()
  // the system suspends the program, and resumes it
  try container.resume()
}
