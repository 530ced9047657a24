extension SchemaBuilder {
  /// Adds an entity's declared text index to the entity and its subentities.
  mutating func indexTexts(
    _ entity: EntityDescription, _ declaration: Entity, _ content: Schema.Content
  ) {
    for case let rule as TextIndex in declaration.rules {
      do {
        let index = try Self.textIndex(rule, of: entity, content)
        for member in entity.family { member.textIndex = index }
      } catch {
        fail("The text index of \(entity.name) is invalid. \(error.message)")
      }
    }
  }

  private static func textIndex(
    _ rule: TextIndex, of entity: EntityDescription, _ content: Schema.Content
  ) throws(ObjectGraphError) -> TextIndexDescription {
    guard !entity.family.contains(where: { $0.textIndex != nil }) else {
      throw refusal(
        "An entity can have only one text index. Remove the other TextIndex declarations.")
    }
    guard (1...TextIndexDescription.maxAttributeCount).contains(rule.attributes.count) else {
      throw refusal(
        "A text index must cover 1 to \(TextIndexDescription.maxAttributeCount) attributes, but "
          + "this text index covers \(rule.attributes.count). Change the list of attributes.")
    }
    var slots: [Int] = []
    for keyPath in rule.attributes {
      let property = try content.property(keyPath, of: entity)
      guard case .attribute(.string, _) = property.kind, !slots.contains(property.slot) else {
        throw refusal(
          "\(property.name) is not a string attribute, or is listed twice. List only string "
            + "attributes, and list each attribute only once.")
      }
      slots.append(property.slot)
    }
    guard rule.weights.isEmpty || rule.weights.count == slots.count,
      rule.weights.allSatisfy({ (0...1000).contains($0) })
    else { throw refusal("Each attribute must have exactly one weight from 0 to 1000.") }
    guard rule.tokenizer.hasValidName else {
      throw refusal(
        "The name of a custom tokenizer must consist of 1 to 64 letters, digits and hyphens. "
          + "Choose a different name.")
    }
    let weights = rule.weights.isEmpty ? slots.map { _ in 1 } : rule.weights
    return TextIndexDescription(
      entity: entity, slots: slots,
      weights: weights.map { Int(($0 * TextRanking.weightUnit).rounded()) },
      tokenizer: rule.tokenizer)
  }

  private static func refusal(_ message: String) -> ObjectGraphError {
    ObjectGraphError(.invalidModel, message)
  }
}
