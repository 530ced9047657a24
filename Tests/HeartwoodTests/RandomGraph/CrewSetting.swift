import Heartwood

/// The parameters of a run, apart from its steps.
struct CrewSetting: CustomStringConvertible {
  var placeCount = 1
  var policies: [MergePolicy.Each] = [.error]
  var tracksUndo: [Bool] = [false]
  /// A Boolean value that indicates whether undo also reverts saved changes.
  ///
  /// In this case, no other context makes changes.
  var keepsUndo = false
  var containerCount = 1
  /// A Boolean value that indicates whether steps delete the history.
  ///
  /// The value is `false` if another process still has to read the history.
  var deletesHistory = true

  func policy(_ workspace: Int) -> MergePolicy.Each { policies[workspace % policies.count] }
  func tracksUndo(_ workspace: Int) -> Bool { tracksUndo[workspace % tracksUndo.count] }

  var description: String {
    "\(placeCount) contexts with \(policies), undo \(tracksUndo), \(containerCount) containers"
  }

  /// Returns the setting with the given name; some of its details depend on the seed.
  static func named(_ name: String, seed: UInt64) -> CrewSetting {
    var setting = CrewSetting()
    switch name {
    case "undo": setting.tracksUndo = [true]
    case "saved undo":
      setting.tracksUndo = [true]
      setting.keepsUndo = true
    case "policy": setting.policies = [MergePolicy.Each.allCases[Int(seed % 6)]]
    case "several", "reopened", "other":
      setting.placeCount = 3
      setting.containerCount = 1 + Int(seed % 2)
      setting.deletesHistory = name != "other"
      setting.policies = (0..<3).map { MergePolicy.Each.allCases[(Int(seed) / 2 + $0 * 5) % 6] }
    case "contested":
      setting.placeCount = 3
      setting.policies = [.error]
    default: break
    }
    return setting
  }
}
