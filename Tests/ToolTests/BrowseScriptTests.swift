import Foundation
import Heartwood
import HeartwoodTestSupport
import Testing

/// Tests the script of the page that `heartwoodctl browse` writes, in a browser.
@Suite(
  "The HTML page of a store in a browser", .waiting,
  .enabled(if: Browser.path != nil, "needs chromium, chromium-browser or google-chrome"))
struct BrowseScriptTests {
  private func page(
    in directory: ScratchDirectory, _ change: (ManagedObjectContext) throws -> Void = { _ in }
  ) throws -> BrowsedPage {
    let store = try ObjectStore()
    try store.change(change)
    return try BrowsedPage(of: store, in: directory)
  }

  @Test func `shows all rows, and runs nothing that the store contains`() throws {
    let directory = try ScratchDirectory()
    let hostile = [
      "</script><script>document.title = 'broken'</script>", "<img src=x onerror=alert(1)>",
      "a\u{202E}b", "\u{2028}", "\u{301}", "",
    ]
    let page = try page(in: directory) { context in
      for text in hostile {
        let oddity = ToolOddity(context: context)
        oddity.text = text
      }
    }
    let result = try page.evaluate(
      """
      const column = buttons("Oddity").findIndex(button => button.textContent.startsWith("text"));
      return {
        title: document.title, texts: cells("Oddity", column), names: cells("Player", 1),
        moments: cells("Oddity", 7), numbers: cells("Player", 2),
        elements: ["script", "b", "img"].map(name => document.querySelectorAll(name).length),
      };
      """)
    #expect((result["title"] as? String)?.contains(", generation ") == true)
    let texts = try #require(result["texts"] as? [String])
    #expect(texts.count == ObjectStore.oddTexts.count + 7)
    #expect(texts.suffix(6).prefix(2) == hostile[..<2])
    #expect(texts.suffix(4) == ["a\\u{202E}b", "\\u{2028}", "\u{301}", "empty"])
    #expect(texts[6] == "\\u{1B}[31mred")
    #expect(result["names"] as? [String] == (0..<5).map { "P\($0)" })
    #expect(result["numbers"] as? [String] == ["0", "1", "2", "3", "nil"])
    #expect(
      (result["moments"] as? [String])?[ObjectStore.oddTexts.count] == "1367-03-24 12:26:39.875")
    // The two script elements are the page's script and the script of this test.
    #expect(result["elements"] as? [Int] == [2, 0, 0])
  }

  @Test func `sorts by the values of a column, with missing ones at the end`() throws {
    let directory = try ScratchDirectory()
    let page = try page(in: directory) { context in
      for (number, weight) in [(100, 2.0), (20, 100), (-3, 15)] {
        let player = ToolPlayer(context: context)
        (player.name, player.number, player.weight) = ("Q\(number)", Int16(number), weight)
      }
    }
    let result = try page.evaluate(
      """
      const head = buttons("Player")[2];
      const shown = () => [...cells("Player", 2), head.parentNode.ariaSort];
      const all = [];
      for (let count = 0; count < 3; count += 1) {
        head.click();
        all.push(shown());
      }
      buttons("Player")[4].click();
      const large = buttons("Oddity");
      large.find(button => button.textContent.includes("double")).click();
      return { all, weights: cells("Player", 4), last: cells("Oddity", 0).pop() };
      """)
    let all = try #require(result["all"] as? [[String]])
    #expect(all[0] == ["-3", "0", "1", "2", "3", "20", "100", "nil", "ascending"])
    #expect(all[1] == ["100", "20", "3", "2", "1", "0", "-3", "nil", "descending"])
    #expect(all[2] == ["0", "1", "2", "3", "nil", "100", "20", "-3", "none"])
    #expect(
      result["weights"] as? [String] == ["0", "2", "10.5", "15", "21", "31.5", "42", "100"])
    // The object whose number is NaN comes last.
    #expect(result["last"] as? String == "\(ObjectStore.oddTexts.count + 1)")
  }

  @Test func `finds rows, turns pages and follows links`() throws {
    let directory = try ScratchDirectory()
    let page = try page(in: directory) { context in
      let team = try #require(
        try context.fetch(FetchRequest<ToolTeam>(sort: [SortDescriptor(\.name)])).last)
      for number in 0..<240 {
        let player = ToolPlayer(context: context)
        player.name = "Reserve \(number)"
        player.team = number < 30 ? team : nil
      }
    }
    let result = try page.evaluate(
      """
      const status = () => section("Player").querySelector("output").value;
      const results = { first: status() };
      section("Player").querySelector(".pages button:last-child").click();
      results.second = [status(), cells("Player", 1)[0]];
      type("Player", "p3");
      results.found = [status(), cells("Player", 1)];
      type("Player", "nothing at all");
      results.nothing = [status(), cells("Player", 1).length];
      const members = [...section("Team").querySelectorAll("tbody details")]
        .find(details => details.firstChild.textContent === "32");
      members.open = true;
      await new Promise(resolve => setTimeout(resolve, 100));
      const items = [...members.querySelectorAll("li")].map(item => item.textContent);
      results.members = [items.length, items[0], items[20]];
      location.hash = "#Player/150";
      await new Promise(resolve => setTimeout(resolve, 100));
      results.target = [status(), document.querySelector(".target").cells[1].textContent];
      results.focus = document.activeElement.className;
      return results;
      """)
    #expect(result["first"] as? String == "1–100 of 245")
    #expect(result["second"] as? [String] == ["101–200 of 245", "Reserve 95"])
    let found = try #require(result["found"] as? [Any])
    #expect(found[0] as? String == "1–1 of 1 found of 245")
    #expect(found[1] as? [String] == ["P3"])
    let nothing = try #require(result["nothing"] as? [Any])
    #expect(nothing[0] as? String == "No object contains this text.")
    #expect(nothing[1] as? Int == 0)
    let members = try #require(result["members"] as? [Any])
    #expect(members[0] as? Int == 21)
    #expect(members[1] as? String == "Player/1P0")
    #expect(members[2] as? String == "and 12 more")
    #expect(result["target"] as? [String] == ["101–200 of 245", "Reserve 144"])
    #expect(result["focus"] as? String == "target")
  }

  @Test func `shows and follows the names of a hostile model`() throws {
    let directory = try ScratchDirectory()
    let result = try BrowsedPage(ofHostileModelIn: directory).evaluate(
      """
      const link = document.querySelectorAll("tbody a")[1];
      link.click();
      await new Promise(resolve => setTimeout(resolve, 100));
      return {
        title: document.title, images: document.images.length, link: link.textContent,
        target: document.querySelector(".target").cells[1].textContent,
      };
      """)
    #expect((result["title"] as? String)?.hasPrefix("\"><script>document.title = 1<,") == true)
    #expect(result["images"] as? Int == 0)
    #expect(
      result["link"] as? String
        == HostileName.name.replacing("\u{202E}", with: "\\u{202E}") + "/1")
    #expect(result["target"] as? String == "hostile")
  }

  @Test func `opens at the object that its address names`() throws {
    let directory = try ScratchDirectory()
    let result = try page(in: directory).evaluate(
      "return { target: document.querySelector('.target').textContent };", at: "#Captain/1")
    #expect((result["target"] as? String)?.hasPrefix("1P55") == true)
  }
}
