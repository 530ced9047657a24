import Foundation

/// The real feeds in the file or directory that the environment variable `QUAKE_FEED` names.
enum RealFeeds {
  static let paths: [String] = {
    guard let path = ProcessInfo.processInfo.environment["QUAKE_FEED"] else { return [] }
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else {
      return [path]
    }
    return names.filter { $0.hasSuffix("json") }.map { path + "/" + $0 }.sorted()
  }()
}
