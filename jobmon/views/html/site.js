// Keeps a page up to date: asks for it again every five seconds while it is visible, and replaces what changed.
"use strict";
(() => {
  const PERIOD_MS = 5000;
  const live = document.getElementById("live");
  let etag = "", timer = 0, seen = Date.now(), asked = false;

  const clock = (made) => new Date(made * 1000).toLocaleTimeString([], {hour12: false});
  const say = (text, lost) => { live.textContent = text; live.classList.toggle("lost", Boolean(lost)); };

  function ages() {
    const units = [[86400, "d"], [3600, "h"], [60, "m"], [1, "s"]];
    for (const time of document.querySelectorAll("#main time[datetime]")) {
      const away = Math.round((Date.now() - Date.parse(time.dateTime)) / 1000), long = Math.abs(away);
      const [size, unit] = units.find(([each]) => long >= each) || units[3];
      const text = Math.floor(long / size) + unit;
      if (/^(\d+[smhdw] ago|in \d+[smhdw])$/.test(time.textContent))
        time.textContent = away >= 0 ? text + " ago" : "in " + text;
    }
  }

  // what the user does must survive: an open list, the place in a log, the focus, a text that is being written
  function isBusy(main) {
    const active = document.activeElement, chosen = getSelection();
    const writes = main.contains(active) && /^(INPUT|TEXTAREA|SELECT)$/.test(active.tagName);
    return writes || (!chosen.isCollapsed && main.contains(chosen.anchorNode));
  }

  const path = (node) => {
    const steps = [];
    for (let at = node; at && at.id !== "main"; at = at.parentNode) {
      steps.unshift([...at.parentNode.children].indexOf(at));
    }
    return steps;
  };

  function replace(next) {
    const main = document.getElementById("main");
    const open = [...main.querySelectorAll("details")].map((each) => each.open);
    const places = [...main.querySelectorAll(".scroll,.log")].map((each) => {
      const atEnd = each.scrollTop + each.clientHeight >= each.scrollHeight - 4;
      return [each.scrollLeft, each.classList.contains("log") && atEnd ? Infinity : each.scrollTop];
    });
    const focused = main.contains(document.activeElement) && document.activeElement !== main
      ? {href: document.activeElement.getAttribute("href"), steps: path(document.activeElement)} : null;
    main.replaceChildren(...next.childNodes);
    main.querySelectorAll("details").forEach((each, n) => { if (n in open) each.open = open[n]; });
    main.querySelectorAll(".scroll,.log").forEach((each, n) => {
      if (n in places) [each.scrollLeft, each.scrollTop] = [places[n][0], Math.min(places[n][1], each.scrollHeight)];
    });
    if (focused) {
      const same = focused.href && [...main.querySelectorAll("a")]
        .find((each) => each.getAttribute("href") === focused.href);
      const there = same || focused.steps.reduce((at, step) => at && at.children[step], main);
      if (there) there.focus({preventScroll: true});
    }
    ages();
  }

  async function poll() {
    if (asked || document.hidden) return;
    asked = true;
    try {
      const given = await fetch(location.href, {
        headers: etag ? {"If-None-Match": etag} : {}, cache: "no-store", redirect: "error",
        signal: AbortSignal.timeout(30000),
      });
      if (given.status === 401) return say("This page is no longer valid: start jobmon web again.", true);
      if (given.status === 404) return say("There is nothing at this address any more.", true);
      if (given.status !== 200 && given.status !== 304) throw new Error(String(given.status));
      if (given.status === 200) {
        const next = new DOMParser().parseFromString(await given.text(), "text/html");
        if (!isBusy(document.getElementById("main"))) {
          etag = given.headers.get("ETag") || "";
          document.title = next.title;
          replace(next.getElementById("main"));
        }
      }
      seen = Date.now();
      say("Live, as of " + clock(given.headers.get("Jobmon-Made")));
    } catch {
      say("No answer for " + Math.round((Date.now() - seen) / 1000) + "s: does jobmon web still run, and ssh?", true);
    } finally {
      asked = false;
    }
  }

  function start() {
    clearInterval(timer);
    if (document.hidden) return say("Paused");
    poll();
    timer = setInterval(() => { poll(); ages(); }, PERIOD_MS);
  }
  document.addEventListener("visibilitychange", start);
  for (const log of document.querySelectorAll(".log")) log.scrollTop = log.scrollHeight;
  start();
})();
