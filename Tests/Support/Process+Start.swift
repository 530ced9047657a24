package import Foundation

extension Process {
  /// Starts the program with no signals blocked.
  ///
  /// The threads of tests may block signals, and child processes inherit the set of blocked
  /// signals. Without this method, ``terminate()`` would therefore have no effect on the child
  /// process.
  package func start() throws {
    var (none, usual) = (sigset_t(), sigset_t())
    sigemptyset(&none)
    pthread_sigmask(SIG_SETMASK, &none, &usual)
    defer { pthread_sigmask(SIG_SETMASK, &usual, nil) }
    try run()
  }
}
