import Dispatch
import Foundation

/// An object that removes an unfinished file if the user interrupts the program while the object
/// exists.
final class Interruption {
  private let sources: [any DispatchSourceSignal]

  private static let signals = [SIGINT, SIGTERM, SIGHUP]

  init(removing path: String) {
    sources = Self.signals.map { number in
      signal(number, SIG_IGN)
      let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
      source.setEventHandler {
        unlink(path)
        // Send the signal again, so that the program ends as if the signal had not been handled.
        signal(number, SIG_DFL)
        kill(getpid(), number)
      }
      source.resume()
      return source
    }
  }

  deinit {
    for source in sources { source.cancel() }
    for number in Self.signals { signal(number, SIG_DFL) }
  }
}
