import Foundation
import Testing

/// Returns the number of bytes of this process's resident memory that are not backed by a file.
package func anonymousByteCount() throws -> Int {
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
  let kilobytes = line.split(separator: " ").compactMap { Int($0) }.first
  return try #require(kilobytes) * 1024
}
