import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// Functions that download feeds from web servers.
enum Download {
  /// Returns the argument as a URL, or `nil` if it is the path of a file.
  static func address(_ text: String) -> URL? {
    guard text.contains("://"), let url = URL(string: text), url.scheme != nil else { return nil }
    return url
  }

  /// Downloads the document at a URL.
  static func content(of url: URL) async throws -> Data {
    let name = url.absoluteString.visible
    guard ["http", "https"].contains(url.scheme?.lowercased()) else {
      throw CommandError.failure(
        "The scheme of \(name) is not supported. Use an http, https or file URL.")
    }
    let (content, response): (Data, URLResponse)
    do {
      (content, response) = try await URLSession.shared.data(from: url)
    } catch {
      throw CommandError.failure(
        "\(name) cannot be reached (\(error.localizedDescription.visible)). Try again later, or "
          + "use a feed from a file.")
    }
    if let status = (response as? HTTPURLResponse)?.statusCode, status != 200 {
      throw CommandError.failure(
        "\(name) cannot be read: the server responded with status \(status). Find the URL of the "
          + "feed at https://earthquake.usgs.gov/earthquakes/feed/v1.0/geojson.php")
    }
    return content
  }
}
