import Synchronization

/// The observers of a list's changes.
final class ResultsStream: Sendable {
  private struct Content {
    var listeners: [Int: AsyncStream<ResultsChange>.Continuation] = [:]
    var lastListener = 0
    var isFinished = false
  }

  private let content = Mutex(Content())

  /// Returns a stream for a new observer.
  func make() -> AsyncStream<ResultsChange> {
    let (stream, continuation) = AsyncStream.makeStream(of: ResultsChange.self)
    let listener: Int? = content.withLock { content in
      guard !content.isFinished else { return nil }
      content.lastListener += 1
      content.listeners[content.lastListener] = continuation
      return content.lastListener
    }
    guard let listener else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.content.withLock { _ = $0.listeners.removeValue(forKey: listener) }
    }
    return stream
  }

  func tell(_ change: ResultsChange) {
    for listener in content.withLock({ Array($0.listeners.values) }) { listener.yield(change) }
  }

  /// Ends all streams.
  func finish() {
    let all = content.withLock { content in
      content.isFinished = true
      defer { content.listeners = [:] }
      return Array(content.listeners.values)
    }
    for listener in all { listener.finish() }
  }
}
