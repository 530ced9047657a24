import Synchronization

/// An object that delivers a list's changes to observers.
final class ResultsStream: Sendable {
  private struct Content {
    var observers: [Int: AsyncStream<ResultsChange>.Continuation] = [:]
    var lastObserver = 0
    var isFinished = false
  }

  private let content = Mutex(Content())

  /// Returns a stream for a new observer.
  func make() -> AsyncStream<ResultsChange> {
    let (stream, continuation) = AsyncStream.makeStream(of: ResultsChange.self)
    let observer: Int? = content.withLock { content in
      guard !content.isFinished else { return nil }
      content.lastObserver += 1
      content.observers[content.lastObserver] = continuation
      return content.lastObserver
    }
    guard let observer else {
      continuation.finish()
      return stream
    }
    continuation.onTermination = { [weak self] _ in
      self?.content.withLock { _ = $0.observers.removeValue(forKey: observer) }
    }
    return stream
  }

  func notifyObservers(of change: ResultsChange) {
    for observer in content.withLock({ Array($0.observers.values) }) { observer.yield(change) }
  }

  /// Ends all streams.
  func finish() {
    let all = content.withLock { content in
      content.isFinished = true
      defer { content.observers = [:] }
      return Array(content.observers.values)
    }
    for observer in all { observer.finish() }
  }
}
