import Foundation
import HeartwoodEngine

/// A child process of the tests, identified by its PID.
///
/// Foundation's `Process` waits until a socket is closed. If another process starts at the same
/// moment, it may inherit this socket, and `Process` would then wait for the other process too.
final class SpawnedProcess {
  let number: pid_t
  /// The exit status, or `nil` while the process is running.
  ///
  /// If a signal ended the process, the status is 128 plus the number of the signal.
  private(set) var status: Int32?

  /// Starts a program, and appends its standard error to the file `complaints`.
  init(_ program: String, _ argument: String, complaints: String) throws {
    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
    #else
      var actions = posix_spawn_file_actions_t()
    #endif
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(
      &actions, 2, complaints, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    var arguments = [strdup(program), strdup(argument), nil]
    defer { for argument in arguments { free(argument) } }
    var number = pid_t()
    let result = posix_spawn(&number, program, &actions, nil, &arguments, environ)
    guard result == 0 else {
      throw StorageError(.io, "The process could not be started.", file: program, errno: result)
    }
    self.number = number
  }

  var isRunning: Bool {
    record(WNOHANG)
    return status == nil
  }

  /// Kills the process if it is running, and waits until it has ended.
  func end() {
    guard isRunning else { return }
    kill(number, SIGKILL)
    record(0)
  }

  private func record(_ options: Int32) {
    guard status == nil else { return }
    var found: Int32 = 0
    guard waitpid(number, &found, options) == number else { return }
    status = found & 0x7F == 0 ? found >> 8 & 0xFF : 128 + found & 0x7F
  }
}
