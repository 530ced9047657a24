// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "notes",
  platforms: [.macOS(.v15)],
  dependencies: [.package(path: "../heartwood")],
  targets: [
    .executableTarget(
      name: "notes", dependencies: [.product(name: "Heartwood", package: "heartwood")])
  ]
)
