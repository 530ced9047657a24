/// The page's script, which builds the tables from the rows embedded in the page.
///
/// All data is inserted as text nodes, never as markup.
enum PageScript {
  static let text = #"""
    "use strict";
    (() => {
      const pageLength = 100;
      const shortLength = 80;
      const labelLength = 40;
      const millisecondsUntil2001 = 978307200000;

      addEventListener("error", event => {
        const failure = document.getElementById("failure");
        failure.textContent = `The script on this page failed: ${event.message}`;
        failure.hidden = false;
      });

      // Parses a JSON document in the page, and removes its text from the page to save memory.
      function take(id) {
        const script = document.getElementById(id);
        const content = JSON.parse(script.textContent);
        script.remove();
        return content;
      }

      function make(name, properties, ...children) {
        const node = document.createElement(name);
        for (const [key, value] of Object.entries(properties)) {
          if (key in node) node[key] = value; else node.setAttribute(key, value);
        }
        node.append(...children);
        return node;
      }

      const entities = take("model").map((facts, position) => ({
        ...facts, position, sort: null, query: "", page: 0,
        // Parse the rows only when they are needed, because parsing many rows takes time.
        get rows() { return this.parsed ??= take(`rows-${position}`); },
      }));
      const byName = new Map(entities.map(entity => [entity.name, entity]));

      // MARK: Text

      // Characters that cannot be seen, or that change the direction of the text around them.
      // Joiners are excluded, because emoji and some scripts need them.
      const invisible = /(?![\n\t\u200C\u200D])[\p{C}\p{Zl}\p{Zp}]/gu;
      // Most strings match this pattern, which is faster than the pattern above.
      const plain = /^[\n\t -~]*$/;

      // Returns nodes for a string, with codes in place of invisible characters.
      function nodes(text) {
        if (plain.test(text)) return [text];
        const result = [];
        let end = 0;
        for (const match of text.matchAll(invisible)) {
          const code = match[0].codePointAt(0).toString(16).toUpperCase();
          result.push(text.slice(end, match.index), make("code", {}, `\\u{${code}}`));
          end = match.index + match[0].length;
        }
        result.push(text.slice(end));
        return result;
      }

      // Returns the beginning of a string without splitting a surrogate pair.
      function shortened(text, length) {
        const last = text.charCodeAt(length - 1);
        return text.slice(0, length - (last >= 0xD800 && last < 0xDC00 ? 1 : 0)) + "…";
      }

      function dateText(seconds) {
        const date = new Date(Math.round(Number(seconds) * 1000) + millisecondsUntil2001);
        const text = Number.isNaN(date.getTime()) ? "" : date.toISOString();
        // Show a number of seconds if JavaScript cannot represent the date, or if it would write
        // the year with six digits, because the year is before 0 or after 9999.
        if (!/^\d{4}-/.test(text)) return `${seconds} s after 2001`;
        return text.replace("T", " ").replace(".000Z", "").replace("Z", "");
      }

      // Formats a count in the same way as the rest of the page. The browser's own number
      // formatters are slow to load.
      function countText(count) { return String(count).replace(/\B(?=(\d{3})+$)/g, ","); }

      // MARK: Objects

      // Returns the entity and the position of an object, or null if it is not on the page.
      function locate(id) {
        const slash = id.lastIndexOf("/");
        const entity = byName.get(id.slice(0, slash));
        if (!entity) return null;
        const number = Number(id.slice(slash + 1));
        // Use a binary search, because the rows are sorted by number.
        let [low, high] = [0, entity.rows.length];
        while (low < high) {
          const middle = (low + high) >> 1;
          if (entity.rows[middle][0] < number) low = middle + 1; else high = middle;
        }
        return entity.rows[low]?.[0] === number ? { entity, position: low } : null;
      }

      function address(id) {
        const slash = id.lastIndexOf("/");
        return `#${encodeURIComponent(id.slice(0, slash))}${id.slice(slash)}`;
      }

      // Returns a string that describes an object, or an empty string.
      function label({ entity, position }) {
        const value = entity.label === null ? null : entity.rows[position][entity.label];
        const text = value?.text ?? value ?? "";
        return text.length > labelLength ? shortened(text, labelLength) : text;
      }

      function link(id) {
        const place = locate(id);
        if (!place) {
          const title = "This object is not on the page.";
          return [make("span", { className: "absent", title }, ...nodes(id))];
        }
        const text = label(place);
        const anchor = make("a", { href: address(id) }, ...nodes(id));
        return text === "" ? [anchor] : [anchor, make("small", { dir: "auto" }, ...nodes(text))];
      }

      // MARK: Cells

      // Returns a value as searchable text.
      function text(value, kind) {
        if (value === null) return "nil";
        if (kind === "date") return dateText(value);
        if (kind === "many") return value.join(" ");
        if (kind === "one") {
          const place = locate(value);
          return place ? `${value} ${label(place)}` : value;
        }
        return String(value.text ?? value);
      }

      function cell(value, column, entity) {
        const { kind } = column;
        const isNumber = ["row", "number", "decimal", "date"].includes(kind);
        const content = make("div", { className: "cell" });
        if (value === null) {
          content.append(make("span", { className: "nil" }, "nil"));
        } else if (kind === "row") {
          content.append(make("a", { href: address(`${entity.name}/${value}`) }, String(value)));
        } else if (kind === "one") {
          content.append(...link(value));
        } else if (kind === "many") {
          content.append(members(value));
        } else if (kind === "text" || kind === "data") {
          content.dir = "auto";
          content.append(...textNodes(value));
        } else {
          content.append(text(value, kind));
        }
        return make("td", { className: isNumber ? "number" : "" }, content);
      }

      function textNodes(value) {
        const complete = value.text ?? value;
        if (complete === "") return [make("span", { className: "nil" }, "empty")];
        if (complete.length <= shortLength && !value.bytes) return nodes(complete);
        const note = value.bytes ? `Truncated from ${countText(value.bytes)} bytes.` : "";
        return [expandable(nodes(shortened(complete, shortLength)), () => [
          make("div", { className: "complete", tabIndex: 0 }, ...nodes(complete)),
          make("p", { className: "quiet", hidden: !note }, note),
        ])];
      }

      function members([count, ...ids]) {
        if (count === 0) return make("span", { className: "nil" }, "0");
        return expandable([countText(count)], () => {
          const list = make("ul", {}, ...ids.map(id => make("li", {}, ...link(id))));
          const rest = count - ids.length;
          if (rest > 0) list.append(make("li", {}, `and ${countText(rest)} more`));
          return [list];
        });
      }

      // Returns an expandable element that builds its content when it is opened.
      function expandable(summary, content) {
        const details = make("details", {}, make("summary", {}, ...summary));
        details.addEventListener("toggle", () => details.append(...content()), { once: true });
        return details;
      }

      // MARK: Sorting and searching

      // Returns a sort key, so that `<` sorts values in the order that people expect.
      function key(value, kind) {
        if (value === null) return null;
        if (kind === "many") return value[0];
        if (kind === "bool") return Number(value);
        if (kind === "one") {
          const slash = value.lastIndexOf("/");
          return value.slice(0, slash) + value.slice(slash).padStart(20);
        }
        if (kind === "text" || kind === "data") return (value.text ?? value).toLowerCase();
        if (typeof value === "number") return value;
        // Parse a large integer, which is encoded as a string, without rounding it.
        if (kind !== "decimal" && /^-?\d+$/.test(value)) return BigInt(value);
        const number = Number(value.replace("inf", "Infinity"));
        return Number.isNaN(number) ? null : number;
      }

      // Sorts all rows of an entity; missing values come last in both directions.
      function sort(entity) {
        entity.sorted = entity.rows.map((_, position) => position);
        if (!entity.sort) return;
        const { column, isReversed } = entity.sort;
        const keys = entity.rows.map(row => key(row[column], entity.columns[column].kind));
        const present = entity.sorted.filter(position => keys[position] !== null);
        const way = isReversed ? -1 : 1;
        present.sort((first, second) => {
          const [one, other] = [keys[first], keys[second]];
          return one < other ? -way : one > other ? way : first - second;
        });
        entity.sorted = present.concat(entity.sorted.filter(position => keys[position] === null));
      }

      // Finds the rows that contain all words in the query.
      function search(entity) {
        const words = entity.query.toLowerCase().split(/\s+/).filter(word => word !== "");
        entity.page = 0;
        if (words.length === 0) {
          entity.found = entity.sorted;
          return;
        }
        entity.texts ??= entity.rows.map(row => row.map((value, column) =>
          text(value, entity.columns[column].kind)).join("\n").toLowerCase());
        entity.found = entity.sorted.filter(position =>
          words.every(word => entity.texts[position].includes(word)));
      }

      // MARK: Tables

      function pageCount(entity) {
        return Math.max(1, Math.ceil(entity.found.length / pageLength));
      }

      // Shows the rows of the current page.
      function draw(entity) {
        const { parts, found, page } = entity;
        const start = page * pageLength;
        const shown = found.slice(start, start + pageLength);
        parts.body.replaceChildren(...shown.map(position => make("tr", {},
          ...entity.rows[position].map((value, column) =>
            cell(value, entity.columns[column], entity)))));
        const [first, last, count, total] =
          [start + 1, start + shown.length, found.length, entity.rows.length]
            .map(countText);
        const all = found.length < entity.rows.length ? ` found of ${total}` : "";
        parts.status.value = found.length === 0 ? "No object contains this text."
          : `${first}–${last} of ${count}${all}`;
        const pages = pageCount(entity);
        parts.pages.hidden = pages === 1;
        parts.number.value = page + 1;
        parts.number.max = pages;
        parts.count.textContent = `of ${countText(pages)}`;
        parts.previous.disabled = page === 0;
        parts.next.disabled = page === pages - 1;
        parts.heads.forEach(({ head, sign }, column) => {
          const isSorted = entity.sort?.column === column;
          head.ariaSort = isSorted ? entity.sort.isReversed ? "descending" : "ascending" : "none";
          sign.textContent = isSorted ? entity.sort.isReversed ? "▼" : "▲" : "";
        });
      }

      function turn(entity, page) {
        entity.page = Math.min(Math.max(page, 0), pageCount(entity) - 1);
        draw(entity);
        entity.parts.scroll.scrollTop = 0;
      }

      // Cycles the sort order of a column: ascending, descending, unsorted.
      function toggle(entity, column) {
        const isSame = entity.sort?.column === column;
        entity.sort = isSame && entity.sort.isReversed ? null : { column, isReversed: isSame };
        sort(entity);
        search(entity);
        draw(entity);
      }

      function heading(entity, column, position) {
        const sign = make("span", { ariaHidden: "true" });
        const isNumber = ["row", "number", "decimal", "date"].includes(column.kind);
        const button = make("button", { type: "button", className: isNumber ? "number" : "" });
        // Put the name on the side to which the values are aligned, and the sort arrow on the other
        // side.
        button.append(...isNumber ? [sign, " "] : [], ...nodes(column.name), " ",
          ...isNumber ? [] : [sign]);
        button.addEventListener("click", () => toggle(entity, position));
        return { head: make("th", { scope: "col" }, button), sign };
      }

      function build(entity) {
        const name = entity.name;
        const input = make("input", { type: "search" });
        const status = make("output", {});
        const number = make("input", { type: "number", min: 1, ariaLabel: `Page of ${name}` });
        const count = make("span", {});
        const previous = make("button", { type: "button" }, "Previous");
        const next = make("button", { type: "button" }, "Next");
        const pages = make("div", { className: "pages" }, previous, "page", number, count, next);
        const heads = entity.columns.map((column, position) => heading(entity, column, position));
        const body = make("tbody", {});
        const table = make("table", {},
          make("thead", {}, make("tr", {}, ...heads.map(({ head }) => head))), body);
        const scroll = make("div",
          { className: "scroll", tabIndex: 0, role: "region", ariaLabel: `Objects of ${name}` },
          table);
        entity.parts = { input, status, number, count, previous, next, pages, heads, body, scroll };
        input.addEventListener("input", () => {
          entity.query = input.value;
          search(entity);
          turn(entity, 0);
        });
        previous.addEventListener("click", () => turn(entity, entity.page - 1));
        next.addEventListener("click", () => turn(entity, entity.page + 1));
        number.addEventListener("change",
          () => turn(entity, Math.trunc(number.valueAsNumber || 1) - 1));
        document.getElementById(`objects-${entity.position}`).append(
          make("div", { className: "tools" }, make("label", {}, "Search", input), status, pages),
          scroll);
      }

      // MARK: Links

      // Returns the object ID in the fragment of an address, or an empty string.
      function objectID(hash) {
        const match = /^#([^/]*)(\/\d+)$/.exec(hash);
        try {
          return match ? decodeURIComponent(match[1]) + match[2] : "";
        } catch {
          return "";
        }
      }

      // Shows the object to which the fragment of the page's address refers.
      function follow() {
        const place = locate(objectID(location.hash));
        if (!place) return;
        const { entity, position } = place;
        if (!entity.found.includes(position)) {
          entity.parts.input.value = entity.query = "";
          search(entity);
        }
        const index = entity.found.indexOf(position);
        turn(entity, Math.floor(index / pageLength));
        const row = entity.parts.body.rows[index % pageLength];
        row.className = "target";
        row.tabIndex = -1;
        row.focus({ preventScroll: true });
        row.scrollIntoView({ block: "center" });
      }

      function show(entity) {
        if (entity.rows.length === 0) return;
        build(entity);
        sort(entity);
        search(entity);
        draw(entity);
      }

      // Shows the tables one after another, so that the first table does not wait for the rest.
      function showAll(position) {
        if (position < entities.length) {
          show(entities[position]);
          setTimeout(showAll, 0, position + 1);
          return;
        }
        addEventListener("hashchange", follow);
        document.addEventListener("click", event => {
          // If the address already refers to the link's object, follow the link here, because the
          // browser then fires no `hashchange` event.
          const anchor = event.target.closest("a");
          if (anchor?.hash && anchor.hash === location.hash) follow();
        });
        // Scroll again, because building the tables has moved the element to which the address
        // refers.
        document.getElementById(location.hash.slice(1))?.scrollIntoView();
        follow();
        document.documentElement.dataset.state = "complete";
      }

      showAll(0);
    })();
    """#
}
