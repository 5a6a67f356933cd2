// What no page needs and every page is better with: times in the reader's own zone, countdowns, keys, copying, and word of changes.
// Nothing is built from what a stranger wrote: texts are only ever set as texts.
"use strict";

(() => {
  const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

  function localise(root) {
    for (const time of root.querySelectorAll("time.when[datetime]")) {
      const at = new Date(time.dateTime);
      if (!Number.isNaN(at.valueOf())) time.textContent = full.format(at);
    }
  }

  function left(seconds) {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const parts = [];
    for (const [size, name] of units) {
      const count = Math.floor(seconds / size);
      seconds -= count * size;
      if (count > 0) parts.push(`${count} ${name}`);
    }
    return parts.slice(0, 2).join(" ") || "0 s";
  }

  function count() {
    for (const place of document.querySelectorAll("[data-until]")) {
      const seconds = Math.floor((new Date(place.dataset.until) - Date.now()) / 1000);
      if (!Number.isNaN(seconds)) place.textContent = seconds > 0 ? left(seconds) : "No time";
    }
  }

  function copyable(root) {
    if (!navigator.clipboard) return;
    for (const place of root.querySelectorAll("[data-copy]")) {
      if (place.nextElementSibling?.classList.contains("copy")) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "copy";
      button.textContent = "Copy";
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(place.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      });
      place.after(button);
    }
  }

  function dress(root) {
    localise(root);
    copyable(root);
    count();
  }

  // Rows are gone through with j and k, opened with Enter; x chooses one.
  let chosen = -1;

  function rows() {
    return [...document.querySelectorAll("[data-row]")];
  }

  function choose(step) {
    const all = rows();
    if (all.length === 0) return;
    all[chosen]?.removeAttribute("aria-selected");
    chosen = Math.max(0, Math.min(all.length - 1, chosen + step));
    all[chosen].querySelector("[data-open]")?.focus();
    all[chosen].scrollIntoView({ block: "nearest" });
  }

  const KEYS = [["j", "the next one"], ["k", "the one before"], ["Enter", "open it"], ["x", "choose it"], ["/", "find"], ["g o", "overview"], ["g r", "review"], ["g p", "approvals"], ["g a", "actions"], ["?", "these keys"]];

  function help() {
    let dialog = document.querySelector("dialog.keys");
    if (!dialog) {
      dialog = document.createElement("dialog");
      dialog.className = "keys";
      const title = document.createElement("h2");
      title.textContent = "Keys";
      const list = document.createElement("dl");
      for (const [key, what] of KEYS) {
        const term = document.createElement("dt");
        for (const part of key.split(" ")) {
          const kbd = document.createElement("kbd");
          kbd.textContent = part;
          term.append(kbd, " ");
        }
        const text = document.createElement("dd");
        text.textContent = what;
        list.append(term, text);
      }
      const close = document.createElement("button");
      close.textContent = "Close";
      close.addEventListener("click", () => dialog.close());
      dialog.append(title, list, close);
      document.body.append(dialog);
    }
    dialog.showModal();
  }

  let gone = 0;

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, dialog")) return;
    const places = { r: "/review", a: "/actions", p: "/approvals", o: "/overview" };
    if (Date.now() - gone < 1000 && places[event.key]) {
      location.assign(places[event.key]);
    } else if (event.key === "g") {
      gone = Date.now();
      return;
    } else if (event.key === "j") {
      choose(1);
    } else if (event.key === "k") {
      choose(-1);
    } else if (event.key === "x") {
      rows()[chosen]?.querySelector("input[type=checkbox]")?.click();
    } else if (event.key === "/") {
      const field = document.querySelector("input[type=search]");
      if (field) field.focus(); else location.assign("/actions");
    } else if (event.key === "?") {
      help();
    } else {
      return;
    }
    gone = 0;
    event.preventDefault();
  });

  // A page says that it is alive by a part of it that can be fetched anew. It is not taken from under somebody who is choosing in it.
  function follow() {
    if (!document.getElementById("live") || !window.EventSource) return;
    const source = new EventSource("/live");
    source.addEventListener("changed", () => {
      const live = document.getElementById("live");
      const busy = live.querySelector("input:checked, details[open]") || live.contains(document.activeElement);
      if (!busy) document.body.dispatchEvent(new Event("changed"));
    });
    addEventListener("pagehide", () => source.close());
  }

  document.addEventListener("DOMContentLoaded", () => {
    dress(document);
    follow();
    document.querySelector("form[data-send]")?.requestSubmit();
    setInterval(count, 1000);
  });
  document.addEventListener("htmx:afterSwap", () => { chosen = -1; dress(document); });
})();
