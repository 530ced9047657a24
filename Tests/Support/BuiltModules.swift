import Foundation

/// The modules built with these tests, for programs that the tests compile.
package enum BuiltModules {
  /// The directory of the modules; `nil` if it is not beside the tests.
  package static let directory: String? = {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let directory = bundle?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
    let modules = directory.appending(path: "Modules").path
    let module = modules + "/Heartwood.swiftmodule"
    return FileManager.default.fileExists(atPath: module) ? modules : nil
  }()

  /// The object files of both modules; those of deleted sources may still be beside them.
  package static func objects(in directory: String) throws -> [String] {
    let parent = URL(filePath: directory).deletingLastPathComponent()
    let package = URL(filePath: #filePath).appending(path: "../../..").standardized
    return try ["Heartwood", "HeartwoodEngine"].flatMap { module in
      let built = parent.appending(path: "\(module).build")
      let sources = FileManager.default.enumerator(
        at: package.appending(path: "Sources/\(module)"), includingPropertiesForKeys: nil)
      let names = Set((sources?.allObjects as? [URL] ?? []).map { $0.lastPathComponent + ".o" })
      return try FileManager.default.contentsOfDirectory(atPath: built.path)
        .filter { $0.hasSuffix(".o") && (!$0.hasSuffix(".swift.o") || names.contains($0)) }
        .map { built.appending(path: $0).path }
    }
  }

  /// Runs a program found as a shell would find it; returns its output, errors included, and its
  /// exit code.
  ///
  /// - Parameter directory: The working directory; `nil` for the current one.
  package static func run(
    _ program: String, _ arguments: [String], in directory: String? = nil
  ) throws -> (output: String, exitCode: Int32) {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [program] + arguments
    if let directory { process.currentDirectoryURL = URL(filePath: directory) }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = pipe
    process.standardInput = FileHandle.nullDevice
    try process.run()
    let said = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (String(decoding: said, as: UTF8.self), process.terminationStatus)
  }
}
