import Foundation
import HeartwoodEngine

/// A process that was started here, by its PID.
///
/// Foundation detects an end by a socket that a process started at the same moment may have
/// inherited, and would wait for that one too.
final class SpawnedProcess {
  let number: pid_t
  /// The argument of `exit`, or 128 and the signal; `nil` while it runs.
  private(set) var status: Int32?

  /// Starts a program whose errors are appended to a file.
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

  /// Kills it if it runs, and waits for its end.
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
