// swift-tools-version: 6.2

import PackageDescription

/// One strict dialect for every target.
let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
  name: "heartwood",
  platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
  products: [
    .library(name: "Heartwood", targets: ["Heartwood"]),
    .library(name: "HeartwoodUI", targets: ["HeartwoodUI"]),
    .library(name: "HeartwoodEngine", targets: ["HeartwoodEngine"]),
    .executable(name: "heartwoodctl", targets: ["heartwoodctl"]),
    .executable(name: "heartwood-bench", targets: ["heartwood-bench"]),
    .executable(name: "quakes", targets: ["quakes"]),
  ],
  dependencies: [],
  targets: [
    .target(name: "HeartwoodEngine", swiftSettings: settings),
    .target(name: "Heartwood", dependencies: ["HeartwoodEngine"], swiftSettings: settings),
    // For SwiftUI; empty where there is none.
    .target(name: "HeartwoodUI", dependencies: ["Heartwood"], swiftSettings: settings),
    .target(name: "SQLiteWriter", swiftSettings: settings),
    .executableTarget(
      name: "heartwoodctl", dependencies: ["Heartwood", "HeartwoodEngine", "SQLiteWriter"],
      path: "Sources/HeartwoodTool", swiftSettings: settings),
    .executableTarget(
      name: "heartwood-bench", dependencies: ["Heartwood", "HeartwoodEngine"], path: "Benchmarks",
      swiftSettings: settings),
    .executableTarget(
      name: "quakes", dependencies: ["Heartwood"], path: "Sources/Quakes", swiftSettings: settings),
    .target(
      name: "HeartwoodTestSupport", dependencies: ["HeartwoodEngine"], path: "Tests/Support",
      swiftSettings: settings),
    .testTarget(
      name: "HeartwoodEngineTests", dependencies: ["HeartwoodEngine", "HeartwoodTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "TreeTests", dependencies: ["HeartwoodEngine", "HeartwoodTestSupport"],
      swiftSettings: settings),
    // What the fuzzer and the tests of its corpus read.
    .target(
      name: "FuzzTargets", dependencies: ["Heartwood", "HeartwoodEngine", "HeartwoodTestSupport"],
      path: "Tests/Fuzzing/Targets", swiftSettings: settings),
    .testTarget(
      name: "HeartwoodTests", dependencies: ["FuzzTargets", "Heartwood", "HeartwoodTestSupport"],
      exclude: ["Programs"],
      swiftSettings: settings),
    // What the compiler inlines into programs.
    .testTarget(
      name: "InliningTests", dependencies: ["Heartwood", "HeartwoodTestSupport"],
      swiftSettings: settings),
    .testTarget(
      name: "DocumentTests", dependencies: ["Heartwood", "HeartwoodTestSupport"],
      exclude: ["Programs", "StandIns"], swiftSettings: settings),
    .testTarget(
      name: "FormatTests", dependencies: ["HeartwoodEngine", "HeartwoodTestSupport"],
      exclude: ["Golden"], swiftSettings: settings),
    .testTarget(
      name: "SimulationTests",
      dependencies: ["HeartwoodEngine", "HeartwoodTestSupport", "heartwood-worker"],
      swiftSettings: settings),
    .executableTarget(
      name: "heartwood-worker", dependencies: ["HeartwoodTestSupport"], path: "Tests/Worker",
      swiftSettings: settings),
    .testTarget(
      name: "ToolTests",
      dependencies: ["Heartwood", "HeartwoodEngine", "HeartwoodTestSupport", "heartwoodctl"],
      swiftSettings: settings),
    .testTarget(
      name: "SQLiteWriterTests", dependencies: ["HeartwoodTestSupport", "SQLiteWriter"],
      swiftSettings: settings),
    .testTarget(
      name: "QuakesTests", dependencies: ["HeartwoodEngine", "HeartwoodTestSupport", "quakes"],
      exclude: ["watch-in-tmux"], swiftSettings: settings),
    // What users write, compiled as they do: with the compiler's own settings, and with all of it
    // on the main actor. Not executables, whose names could collide with those of a dependent.
    .target(name: "HeartwoodUsage", dependencies: ["Heartwood"], path: "Tests/Contract/Usage"),
    .target(
      name: "HeartwoodUsageOnMainActor", dependencies: ["Heartwood"],
      path: "Tests/Contract/UsageOnMainActor",
      swiftSettings: [.defaultIsolation(MainActor.self)]),
    .testTarget(name: "TidyTests", swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)

// libFuzzer brings the `main` of this target, so it links only in the builds of
// `Tests/Fuzzing/run`.
if Context.environment["HEARTWOOD_FUZZ"] != nil {
  package.targets.append(
    .executableTarget(
      name: "heartwood-fuzz",
      dependencies: ["FuzzTargets", "HeartwoodEngine", "HeartwoodTestSupport"],
      path: "Tests/Fuzzing/Program", swiftSettings: settings))
}

// Sanitizers build all they are given once more: they are given what they look at.
if let names = Context.environment["HEARTWOOD_TARGETS"]?.split(separator: ",") {
  package.targets.removeAll { target in !names.contains { $0 == target.name } }
  package.products = []
}
