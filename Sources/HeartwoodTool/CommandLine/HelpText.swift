/// The output of `--help`.
enum HelpText {
  private static let width = 80
  private static let column = 24

  /// The help text of the tool.
  static var overview: String {
    var lines = [
      "heartwoodctl inspects and maintains a Heartwood store.",
      "",
      "Usage: heartwoodctl COMMAND PATH [options]",
    ]
    for group in Command.Group.allCases {
      lines += ["", "\(group.rawValue):"] + Command.allCases.filter { $0.group == group }.map(row)
    }
    lines += ["", "Options:", row(.json), row(.help), row(.version), ""]
    lines += ["Run 'heartwoodctl COMMAND --help' to show the options of a command.", ""]
    return (lines + exitCodes).joined(separator: "\n")
  }

  /// Returns the help text of one command.
  static func text(for command: Command) -> String {
    var lines = ["heartwoodctl \(command.rawValue): \(command.summary).", ""]
    lines += [wrapped("Usage: \(usage(command))", indent: 7), ""]
    for operand in command.operands {
      lines.append("  " + operand.rawValue.padded(to: column) + operand.summary)
    }
    for flag in command.flags + [.help] { lines.append(row(flag)) }
    for paragraph in command.details { lines += ["", wrapped(paragraph)] }
    lines += ["", "Example: \(command.example)", ""]
    return (lines + exitCodes).joined(separator: "\n")
  }

  /// Returns the usage of a command in a form that can be appended to an error message.
  static func usageSentence(_ command: Command) -> String {
    "Usage: \(usage(command).replacing("\u{A0}", with: " "))"
  }

  private static func usage(_ command: Command) -> String {
    let operands = command.operands.map { command.requires($0) ? $0.rawValue : "[\($0.rawValue)]" }
    // Use non-breaking spaces to keep a flag and its value on one line.
    let flags = command.flags.map { flag in
      let usage = command.requiredFlags.contains(flag) ? flag.usage : "[\(flag.usage)]"
      return usage.replacing(" ", with: "\u{A0}")
    }
    return (["heartwoodctl", command.rawValue] + operands + flags).joined(separator: " ")
  }

  private static let exitCodes = [
    "Exit codes: 0 success; 1 failure or damage found; 2 invalid usage."
  ]

  private static func row(_ command: Command) -> String {
    "  " + command.rawValue.padded(to: column) + command.summary
  }

  private static func row(_ flag: Flag) -> String {
    "  " + flag.usage.padded(to: column) + flag.summary
  }

  /// Returns the text wrapped at 80 columns, with all lines except the first indented.
  private static func wrapped(_ text: String, indent: Int = 0) -> String {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ") {
      if !line.isEmpty, line.count + 1 + word.count > width {
        lines.append(line)
        line = String(repeating: " ", count: indent)
      } else if !line.isEmpty {
        line += " "
      }
      line += word
    }
    return (lines + [line]).joined(separator: "\n").replacing("\u{A0}", with: " ")
  }
}
