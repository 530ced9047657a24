import Foundation

/// Locates the modules built with these tests, for test programs that are compiled at run time.
package enum BuiltModules {
  /// The directory that contains the modules, or `nil` if it is not next to the test bundle.
  package static let directory: String? = {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let directory = bundle?.bundleURL.deletingLastPathComponent() ?? Bundle.main.bundleURL
    let modules = directory.appending(path: "Modules").path
    let module = modules + "/Heartwood.swiftmodule"
    return FileManager.default.fileExists(atPath: module) ? modules : nil
  }()

  /// Returns the object files of `Heartwood` and `HeartwoodEngine`, except those left over from
  /// deleted source files.
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

  /// Runs a program, searching for it as a shell would.
  ///
  /// - Parameter directory: The working directory, or `nil` for the current one.
  /// - Returns: The combined standard output and standard error, and the exit code.
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
    try process.start()
    let said = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    return (String(decoding: said, as: UTF8.self), process.terminationStatus)
  }
}
