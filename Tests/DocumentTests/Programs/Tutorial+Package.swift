// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "tremors",
  platforms: [.macOS(.v15)],
  dependencies: [.package(path: "../heartwood")],
  targets: [
    .executableTarget(
      name: "tremors", dependencies: [.product(name: "Heartwood", package: "heartwood")])
  ]
)
