// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "quakes",
  platforms: [.macOS(.v15)],
  dependencies: [.package(path: "../heartwood")],
  targets: [
    .executableTarget(
      name: "quakes", dependencies: [.product(name: "Heartwood", package: "heartwood")])
  ]
)
