import Foundation
import Heartwood
import HeartwoodEngine

/// The entry point of `heartwoodctl`, which parses the command line, runs a command, and reports
/// errors.
@main
enum Tool {
  /// The output of `--version`.
  static let version =
    "heartwoodctl \(Store.libraryVersion) (store format \(StoreFacts.formatVersion))"

  static func main() {
    occupyStandardDescriptors()
    // Ignore SIGPIPE, so that writing to a closed output fails instead of ending the process. The
    // program can then close the store before it exits. It prints a message only if the closed
    // output ends a repeated task.
    signal(SIGPIPE, SIG_IGN)
    exit(run(Array(CommandLine.arguments.dropFirst())).rawValue)
  }

  private static func run(_ arguments: [String]) -> ExitCode {
    let output = Output()
    let result = Result {
      output.exitCodeIfClosed = try answer(arguments, output)
      try output.flush()
      return output.exitCodeIfClosed
    }
    output.endPager()
    do {
      return try result.get()
    } catch is ClosedOutput {
      return output.exitCodeIfClosed
    } catch let failure as ToolFailure {
      complain(failure.message)
      return failure.exitCode
    } catch {
      complain(error.localizedDescription)
      return .refused
    }
  }

  private static func answer(_ arguments: [String], _ output: Output) throws -> ExitCode {
    switch try CommandLineRequest(arguments) {
    case .version: try output.line(version)
    case .help: try output.line(HelpText.overview)
    case .helpOn(let command): try output.line(HelpText.text(for: command))
    case .run(let invocation):
      if invocation.command.isPaged { output.startPager() }
      do {
        return try run(invocation, output)
      } catch let error as StorageError {
        throw ToolFailure.refused(Advice.sentence(for: error, invocation))
      } catch let error as ObjectGraphError {
        throw ToolFailure.refused(error.message)
      }
    }
    return .fine
  }

  /// Runs a command.
  static func run(_ invocation: Invocation, _ output: Output) throws -> ExitCode {
    switch invocation.command {
    case .entities: try EntitiesCommand.run(invocation, output)
    case .query: try QueryCommand.run(invocation, output)
    case .object: try ObjectCommand.run(invocation, output)
    case .browse: try BrowseCommand.run(invocation, output)
    case .history: try HistoryCommand.run(invocation, output)
    case .diff: try DiffCommand.run(invocation, output)
    case .follow: try FollowCommand.run(invocation, output)
    case .apply: try ApplyCommand.run(invocation, output)
    case .shell: return try ShellCommand.run(invocation, output)
    case .export: try ExportCommand.run(invocation, output)
    case .import: return try ImportCommand.run(invocation, output)
    case .set, .delete: try EditCommand.run(invocation, output)
    case .info: try OverviewCommand.run(invocation, output)
    case .generations: try GenerationsCommand.run(invocation, output)
    case .keys: try KeysCommand.run(invocation, output)
    case .dump: try DumpCommand.run(invocation, output)
    case .stat: try StatCommand.run(invocation, output)
    case .verify: return try VerifyCommand.run(invocation, output)
    case .checkpoint: try CheckpointCommand.run(invocation, output)
    case .compact: try CompactCommand.run(invocation, output)
    case .copy: try CopyCommand.run(invocation, output)
    case .backup: try BackupCommand.run(invocation, output)
    case .restore: try RestoreCommand.run(invocation, output)
    case .replica: try ReplicaCommand.run(invocation, output)
    case .promote: try PromoteCommand.run(invocation, output)
    case .salvage: return try SalvageCommand.run(invocation, output)
    case .keep: try KeepCommand.run(invocation, output)
    case .release: try ReleaseCommand.run(invocation, output)
    }
    return .fine
  }

  private static func complain(_ sentence: String) {
    TerminalProgress().clear()
    Output.warn(sentence)
  }

  /// Ensures that descriptors 0 to 2 are open.
  ///
  /// If standard output is closed when the program starts, the system could assign descriptor 1 to
  /// a file of the store. The program's output would then overwrite that file.
  private static func occupyStandardDescriptors() {
    var descriptor: Int32 = 0
    while (0...2).contains(descriptor) { descriptor = open("/dev/null", O_RDWR) }
    if descriptor > 2 { close(descriptor) }
  }
}
