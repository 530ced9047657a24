import Foundation
import Heartwood

/// Two named pipes between two processes, for commands and for replies.
struct TilePipe {
  private let source: FileHandle
  private let sink: FileHandle
  private var buffer = Data()

  /// Creates the two pipes in a directory.
  static func make(in directory: String) throws {
    for name in ["commands", "answers"] {
      guard mkfifo("\(directory)/\(name)", 0o600) == 0 else { throw GraphMismatch("no pipe") }
    }
  }

  /// Opens one end of each pipe, and waits until the other process opens the other end.
  ///
  /// - Parameter commands: `true` if this process sends the commands.
  init(in directory: String, commands: Bool) throws {
    let (commandPath, answerPath) = ("\(directory)/commands", "\(directory)/answers")
    if commands {
      sink = try FileHandle(forWritingTo: URL(filePath: commandPath))
      source = try FileHandle(forReadingFrom: URL(filePath: answerPath))
    } else {
      source = try FileHandle(forReadingFrom: URL(filePath: commandPath))
      sink = try FileHandle(forWritingTo: URL(filePath: answerPath))
    }
  }

  /// Unblocks this process if it is waiting for a process that has ended.
  static func release(_ directory: String) {
    for name in ["commands", "answers"] {
      try? FileHandle(forUpdating: URL(filePath: "\(directory)/\(name)")).close()
    }
  }

  func send(_ message: some Encodable) throws {
    try sink.write(contentsOf: JSONEncoder().encode(message) + [0x0A])
  }

  /// Returns the next message, or `nil` if the other end is closed.
  mutating func receive<Message: Decodable>(_ type: Message.Type) throws -> Message? {
    while true {
      if let end = buffer.firstIndex(of: 0x0A) {
        let message = try JSONDecoder().decode(type, from: buffer[..<end])
        buffer = Data(buffer[(end + 1)...])
        return message
      }
      let more = source.availableData
      guard !more.isEmpty else { return nil }
      buffer += more
    }
  }

  func close() throws {
    try sink.close()
    try source.close()
  }

  /// Executes commands and replies to them until the other end is closed.
  static func serve(_ directory: String, store: URL, contextCount: Int) throws {
    // Create the site before opening the pipe. The other process waits for the pipe, so it makes no
    // commit before the contexts have read their position in the history.
    let site = try TileSite(store, contextCount: contextCount)
    var pipe = try TilePipe(in: directory, commands: false)
    while let command = try pipe.receive(TileCommand.self) { try pipe.send(site.run(command)) }
    let findings = try site.container.store.verify().findings
    guard findings.isEmpty else { throw GraphMismatch("\(findings)") }
  }
}
