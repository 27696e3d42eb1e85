// SPDX-License-Identifier: Apache-2.0
// What a reader can do with the page: choose a problem, hover, filter, select, sort, download. All that is to be read
// stands in the HTML; without this script nothing is missing but comfort. Rules: 1. texts enter the page as text, never as
// HTML; 2. nothing is fetched; 3. places of points are read out of the paths (page_internal.h) or follow from the ends of
// the scale that stand beside them; which are round values, and what they are called, is told by the page.
(function () {
  "use strict";
  var holder = document.getElementById("data");
  if (!holder) return;
  var data = JSON.parse(holder.textContent);
  var NS = "http://www.w3.org/2000/svg", ROWS = 200;
  var state = { session: 0, place: null, chosen: null, filter: "" };

  // --- small helpers
  function make(name, attributes, text) {
    var node = document.createElement(name);
    Object.keys(attributes || {}).forEach(function (key) {
      if (key === "on") Object.keys(attributes.on).forEach(function (event) { node.addEventListener(event, attributes.on[event]); });
      else node.setAttribute(key, attributes[key]);
    });
    if (text !== undefined) node.textContent = text;
    return node;
  }
  function all(selector, from) { return Array.prototype.slice.call((from || document).querySelectorAll(selector)); }
  function digits(value) { return value < 10 ? 3 : value < 100 ? 2 : value < 1000 ? 1 : 0; }
  function time(ns) {
    if (ns === null || ns === undefined || !isFinite(ns)) return "-";
    var units = [["ns", 1, 1e3], ["µs", 1e3, 1e6], ["ms", 1e6, 1e9], ["s", 1e9, Infinity]];
    for (var i = 0; i < 4; i++) if (ns < units[i][2]) return (ns / units[i][1]).toFixed(digits(ns / units[i][1])) + " " + units[i][0];
  }
  function share(value) { return value === null || value === undefined ? "-" : (value * 100).toFixed(value > 0 && value < 0.0995 ? 1 : 0) + " %"; }
  function known(value) { return value === null || value === undefined ? "-" : String(value); }
  // "256Mi" as the page writes sizes.
  function sizes(problem) {
    return problem.replace(/=(\d+)(?= |$)/g, function (whole, number) {
      var value = Number(number), units = ["Ti", "Gi", "Mi", "Ki"];
      for (var i = 0, unit = Math.pow(2, 40); i < 4; i++, unit /= 1024)
        if (value >= unit && value % unit === 0) return "=" + value / unit + units[i];
      return whole;
    });
  }
  function configuration(session, problem, candidate) {
    return session.parameters.map(function (parameter, i) {
      var value = problem.candidates.values[i][candidate];
      return value === null ? null : parameter.name + "=" + parameter.values[value];
    }).filter(Boolean).join(" ");
  }
  function differences(session, problem, candidate, from) {
    return session.parameters.map(function (parameter, i) {
      var value = problem.candidates.values[i][candidate];
      var before = from === undefined ? parameter.default : from === null ? null : problem.candidates.values[i][from];
      return value === null || value === before ? null : parameter.name + "=" + parameter.values[value];
    }).filter(Boolean).join(" ");
  }
  function median(problem, cache, candidate) {
    var times = problem.candidates[cache];
    return times ? times.median_ns[candidate] : null;
  }
  // On the scale of the finals: what candidates are compared by, in charts and tables.
  function comparable(problem, cache, candidate) {
    var times = problem.candidates[cache];
    return times ? times.comparable_ns[candidate] : null;
  }
  // "cold ≈ 5.412 µs (5.050 µs in the screen)"
  function timeWords(problem, cache, candidate) {
    var raw = median(problem, cache, candidate), ns = comparable(problem, cache, candidate), phase = problem.candidates[cache].phase[candidate];
    if (raw === null || raw === ns) return cache + " " + time(raw);
    return cache + " ≈ " + time(ns) + " (" + time(raw) + " in the " + data.phases[phase] + ")";
  }

  // --- places: a problem in a state of the cache, with its element
  var places = all("details.problem").map(function (node) {
    var session = data.sessions[+node.dataset.session];
    return { node: node, s: +node.dataset.session, p: +node.dataset.problem, cache: node.dataset.cache, session: session,
             problem: session.problems[+node.dataset.problem], charts: null };
  });
  function placeOf(s, p, cache) {
    return places.filter(function (one) { return one.s === s && one.p === p && one.cache === cache; })[0] || null;
  }

  // --- points of the charts
  function parsePath(text) {
    var numbers = text.match(/\d+/g) || [], points = [];
    for (var i = 0; i + 2 < numbers.length; i += 3) points.push([+numbers[i], +numbers[i + 1]]); // "M x y h0"
    return points;
  }
  function measuredOf(place) {
    var times = place.problem.candidates[place.cache], list = [];
    if (times) times.comparable_ns.forEach(function (ns, i) { if (ns !== null && ns > 0) list.push(i); });
    return list;
  }
  function pointsPath(points) { return points.map(function (point) { return "M" + point[0] + " " + point[1] + "h0"; }).join(""); }
  function unit(value) { return Math.round(1000 * Math.min(Math.max(value, 0), 1)); }
  function overBox(box, classes, points) {
    var svg = document.createElementNS(NS, "svg"), path = document.createElementNS(NS, "path");
    svg.setAttribute("class", "points strip");
    svg.setAttribute("viewBox", "0 0 1000 1000");
    svg.setAttribute("preserveAspectRatio", "none");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("class", classes);
    path.setAttribute("d", pointsPath(points));
    svg.appendChild(path);
    box.insertBefore(svg, box.firstChild);
    return path;
  }
  // The points of a value's row: its times over the scale of all rows, up and down by number so that they lie apart.
  function rowChart(place, box, parameter, list, low, high) {
    var value = +box.dataset.v, mine = list.filter(function (c) { return place.problem.candidates.values[parameter][c] === value; });
    var span = Math.log(high / low), points = mine.map(function (c) {
      return [unit(Math.log(comparable(place.problem, place.cache, c) / low) / span), unit(0.22 + 0.56 * (Math.imul(c, 2654435761) >>> 16) / 65535)];
    });
    var path = overBox(box, "pts", points);
    return { svg: path.ownerSVGElement, path: path, candidates: mine, points: points, marks: {}, all: false };
  }
  // Single runs against their median, from the first at the top to the last.
  function sampleChart(place, box) {
    var who = box.dataset.who, list = place.problem[place.cache].samples[who], sorted = list.slice().sort(function (a, b) { return a - b; });
    var half = sorted.length >> 1, middle = sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
    var step = Math.ceil(list.length / 4000), points = [];
    for (var i = 0; i < list.length; i += step) points.push([unit(0.5 + (list[i] / middle - 1) / +box.dataset.span / 2), unit(0.1 + 0.8 * i / list.length)]);
    overBox(box, "pts " + { winner: "w", "default": "d", runner_up: "r" }[who], points);
  }
  function chartsOf(place) {
    if (place.charts) return place.charts;
    var measured = measuredOf(place);
    place.charts = all("path[data-points]", place.node).map(function (path) {
      var step = +path.dataset.step, list = measured.filter(function (c, i) { return i % step === 0; });
      return { svg: path.ownerSVGElement, path: path, candidates: list, points: parsePath(path.getAttribute("d")), marks: {}, all: true };
    });
    all(".parameters", place.node).forEach(function (box) {
      var list = measured.filter(function (c, i) { return i % +box.dataset.step === 0; });
      all(".strips", box).forEach(function (table) {
        all("[data-v]", table).forEach(function (row) { place.charts.push(rowChart(place, row, +table.dataset.p, list, +box.dataset.low, +box.dataset.high)); });
      });
    });
    all("[data-who]", place.node).forEach(function (box) { sampleChart(place, box); });
    place.charts.forEach(function (chart) { listen(place, chart); });
    return place.charts;
  }
  function mark(chart, name, indices) {
    var path = chart.marks[name];
    if (!path) {
      if (!indices.length) return;
      path = chart.marks[name] = document.createElementNS(NS, "path");
      path.setAttribute("class", name);
      chart.svg.appendChild(path);
    }
    path.setAttribute("d", indices.map(function (i) { return "M" + chart.points[i][0] + " " + chart.points[i][1] + "h0"; }).join(""));
  }
  function nearest(chart, event) {
    var box = chart.svg.getBoundingClientRect(), best = -1, least = 30 * 30;
    chart.points.forEach(function (point, i) {
      var x = box.left + point[0] / 1000 * box.width - event.clientX, y = box.top + point[1] / 1000 * box.height - event.clientY;
      if (x * x + y * y < least) { least = x * x + y * y; best = i; }
    });
    return best;
  }
  function listen(place, chart) {
    chart.svg.addEventListener("pointermove", function (event) {
      var i = nearest(chart, event);
      mark(chart, "dot hover", i < 0 ? [] : [i]);
      if (i < 0) hideTip(); else showTip(place, chart.candidates[i], event.clientX, event.clientY);
    });
    chart.svg.addEventListener("pointerleave", function () { mark(chart, "dot hover", []); hideTip(); });
    chart.svg.addEventListener("click", function (event) {
      var i = nearest(chart, event);
      if (i >= 0) choose(place, chart.candidates[i]);
    });
    if (chart.all) walk(place, chart);
  }
  // With the keyboard: arrows go from rank to rank.
  function walk(place, chart) {
    chart.svg.setAttribute("tabindex", "0");
    chart.svg.setAttribute("aria-label", chart.svg.getAttribute("aria-label") + ". Arrow keys go from one to the next.");
    chart.svg.addEventListener("keydown", function (event) {
      var step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20, Home: -1e9, End: 1e9 }[event.key];
      if (!step || !chart.points.length) return;
      event.preventDefault();
      var order = chart.candidates.map(function (c, i) { return i; }).sort(function (a, b) { return chart.points[a][0] - chart.points[b][0] || a - b; });
      var at = state.chosen && state.chosen.place === place ? order.findIndex(function (i) { return chart.candidates[i] === state.chosen.candidate; }) : -1;
      choose(place, chart.candidates[order[Math.min(Math.max(at + step, 0), order.length - 1)]]);
    });
  }

  // --- tip
  var tip = make("div", { "class": "tip", hidden: "", role: "presentation" });
  document.body.appendChild(tip);
  function showTip(place, candidate, x, y) {
    tip.textContent = "";
    tip.appendChild(make("b", {}, time(comparable(place.problem, place.cache, candidate))));
    var result = place.problem[place.cache];
    if (result && result.winner_ns) tip.appendChild(document.createTextNode("  " + (comparable(place.problem, place.cache, candidate) / result.winner_ns).toFixed(2) + " × the winner"));
    tip.appendChild(make("div", {}, differences(place.session, place.problem, candidate) || "the default"));
    tip.hidden = false;
    var box = tip.getBoundingClientRect();
    tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 6)) + "px";
    tip.style.top = (y + box.height + 24 > innerHeight ? y - box.height - 12 : y + 14) + "px";
  }
  function hideTip() { tip.hidden = true; }

  // --- selection
  var inspector = make("aside", { "class": "inspector", hidden: "", "aria-live": "polite", "aria-label": "the chosen candidate" });
  document.body.appendChild(inspector);
  function copyButton(text, name) {
    return make("button", { type: "button", on: { click: function (event) {
      event.stopPropagation();
      var button = event.currentTarget;
      copy(text);
      button.textContent = "copied";
      setTimeout(function () { button.textContent = name; }, 1200);
    } } }, name);
  }
  function copy(text) {
    if (navigator.clipboard && window.isSecureContext) { navigator.clipboard.writeText(text); return; }
    var area = make("textarea", { "class": "visually-hidden" });
    area.value = text;
    document.body.appendChild(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  function choose(place, candidate) {
    var of = place.problem.candidates, outcome = data.outcomes[of.outcome[candidate]];
    state.chosen = { place: place, candidate: candidate };
    places.forEach(function (one) {
      (one.charts || []).forEach(function (chart) { mark(chart, "dot chosen", one.s === place.s && one.p === place.p ? chart.candidates.map(function (c, i) { return c === candidate ? i : -1; }).filter(function (i) { return i >= 0; }) : []); });
    });
    inspector.textContent = "";
    inspector.appendChild(make("button", { type: "button", "class": "close", "aria-label": "close", on: { click: unchoose } }, "✕"));
    var row = inspector.appendChild(make("div", { "class": "row" }));
    row.appendChild(make("code", {}, of.id[candidate].slice(0, 8)));
    ["cold", "warm"].forEach(function (cache) { if (of[cache]) row.appendChild(make("span", {}, timeWords(place.problem, cache, candidate))); });
    row.appendChild(make("span", {}, outcome));
    row.appendChild(make("span", {}, known(of.registers[candidate]) + " registers, occupancy " + share(of.occupancy[candidate])));
    var text = configuration(place.session, place.problem, candidate), line = inspector.appendChild(make("div", {}));
    line.appendChild(make("code", { "class": "config" }, text));
    line.appendChild(copyButton(text, "copy"));
    line.appendChild(copyButton("simtune show " + of.id[candidate].slice(0, 12), "copy its show command"));
    if (of.details[candidate]) inspector.appendChild(make("div", { "class": "log" }, of.details[candidate]));
    inspector.hidden = false;
    all("tr.chosen").forEach(function (one) { one.classList.remove("chosen"); });
    all('tr[data-row="' + candidate + '"]').forEach(function (one) { if (tables[place.s] && tables[place.s].place === place) one.classList.add("chosen"); });
  }
  function unchoose() {
    inspector.hidden = true;
    state.chosen = null;
    places.forEach(function (one) { (one.charts || []).forEach(function (chart) { mark(chart, "dot chosen", []); }); });
    all("tr.chosen").forEach(function (one) { one.classList.remove("chosen"); });
  }
  document.addEventListener("keydown", function (event) { if (event.key === "Escape") unchoose(); });

  // --- filter: "BLOCK=256,512 ITEMS>=8 time<20us registers<=64 outcome=wrong look_back"
  function duration(text) {
    var match = /^([\d.]+)(ns|us|µs|ms|s)?$/.exec(text), unit = { ns: 1, us: 1e3, "µs": 1e3, ms: 1e6, s: 1e9 };
    return match ? +match[1] * unit[match[2] || "ns"] : NaN;
  }
  function term(place, text) {
    var match = /^([A-Za-z_][\w.]*)(<=|>=|!=|=|<|>)(.+)$/.exec(text), of = place.problem.candidates;
    if (!match) return function (c) { return configuration(place.session, place.problem, c).toLowerCase().indexOf(text.toLowerCase()) >= 0; };
    var name = match[1], operator = match[2], words = match[3].split(","), read = null;
    place.session.parameters.forEach(function (parameter, i) {
      if (parameter.name.toLowerCase() === name.toLowerCase()) read = function (c) { var v = of.values[i][c]; return v === null ? null : parameter.values[v]; };
    });
    if (!read && name === "time") { words = [duration(match[3])]; read = function (c) { return comparable(place.problem, place.cache, c); }; }
    if (!read && name === "outcome") read = function (c) { return data.outcomes[of.outcome[c]]; };
    if (!read && name === "id") read = function (c) { return of.id[c].slice(0, words[0].length); };
    if (!read && Array.isArray(of[name])) read = function (c) { return of[name][c]; };
    if (!read || words.some(function (word) { return word === "" || (typeof word === "number" && isNaN(word)); })) return null;
    return function (c) {
      var value = read(c);
      if (value === null || value === undefined) return false;
      if (operator === "=") return words.some(function (word) { return String(value) === String(word); });
      if (operator === "!=") return words.every(function (word) { return String(value) !== String(word); });
      var number = +value, bound = +words[0];
      return operator === "<" ? number < bound : operator === ">" ? number > bound : operator === "<=" ? number <= bound : number >= bound;
    };
  }
  // A function of a candidate; null: everything; undefined: not understood.
  function predicate(place, text) {
    var words = text.trim().split(/\s+/).filter(Boolean);
    if (!words.length) return null;
    var terms = words.map(function (word) { return term(place, word); });
    if (terms.some(function (one) { return !one; })) return undefined;
    return function (c) { return terms.every(function (one) { return one(c); }); };
  }
  function applyFilter(place) {
    var keep = predicate(place, state.filter), count = 0;
    var charts = chartsOf(place);
    place.node.classList.toggle("filtered", !!keep);
    charts.forEach(function (chart) {
      var hits = [];
      if (keep) chart.candidates.forEach(function (c, i) { if (keep(c)) hits.push(i); });
      mark(chart, "pts match", hits);
    });
    if (keep) for (var c = 0; c < place.problem.candidates.id.length; c++) count += keep(c) ? 1 : 0;
    if (hint) hint.textContent = keep === undefined ? "not understood" : keep ? count + " of " + place.problem.candidates.id.length : "";
    if (input) input.classList.toggle("wrong", keep === undefined);
    fillTable(place.s, place);
  }

  // --- tables of candidates
  var tables = {};
  var columns = [
    { name: "id", get: function (place, c) { return place.problem.candidates.id[c].slice(0, 8); } },
    { name: "outcome", get: function (place, c) { return data.outcomes[place.problem.candidates.outcome[c]]; } },
    { name: "cold", number: true, get: function (place, c) { return comparable(place.problem, "cold", c); }, show: time },
    { name: "warm", number: true, get: function (place, c) { return comparable(place.problem, "warm", c); }, show: time },
    { name: "registers", number: true, get: function (place, c) { return place.problem.candidates.registers[c]; }, show: known },
    { name: "spilled bytes", number: true, get: function (place, c) { return place.problem.candidates.local_bytes[c]; }, show: known },
    { name: "occupancy", number: true, get: function (place, c) { return place.problem.candidates.occupancy[c]; }, show: share },
    { name: "differs from the default in", get: function (place, c) { return differences(place.session, place.problem, c) || "the default"; } }
  ];
  function rowsOf(table) {
    var keep = predicate(table.place, state.filter), rows = [];
    table.place.problem.candidates.id.forEach(function (id, c) { if (!keep || keep(c)) rows.push(c); });
    var column = columns[table.sort];
    var keys = rows.map(function (c) { return [column.get(table.place, c), c]; });
    keys.sort(function (a, b) {
      if (a[0] === b[0]) return a[1] - b[1];
      if (a[0] === null || a[0] === undefined) return 1;
      if (b[0] === null || b[0] === undefined) return -1;
      return (a[0] < b[0] ? -1 : 1) * (table.down ? -1 : 1);
    });
    return keys.map(function (pair) { return pair[1]; });
  }
  function fillTable(s, place) {
    var table = tables[s];
    if (!table) return;
    table.place = place;
    table.rows = rowsOf(table);
    table.shown = 0;
    table.body.textContent = "";
    table.title.textContent = sizes(place.problem.problem) + ": " + table.rows.length + " of " + place.problem.candidates.id.length + " candidates";
    table.heads.forEach(function (head, i) { head.setAttribute("aria-sort", i !== table.sort ? "none" : table.down ? "descending" : "ascending"); });
    moreRows(table);
  }
  function moreRows(table) {
    var until = Math.min(table.shown + ROWS, table.rows.length), part = document.createDocumentFragment();
    for (; table.shown < until; table.shown++) {
      var c = table.rows[table.shown], row = make("tr", { "data-row": c });
      columns.forEach(function (column) {
        var value = column.get(table.place, c);
        row.appendChild(make("td", column.number ? { "class": "n" } : {}, column.show ? column.show(value) : known(value)));
      });
      part.appendChild(row);
    }
    table.body.appendChild(part);
    table.more.hidden = table.shown >= table.rows.length;
  }
  function makeTable(s, node) {
    var table = { sort: state.cache === "warm" ? 3 : 2, down: false, heads: [] };
    node.textContent = "";
    table.title = node.appendChild(make("p", { "class": "note", "aria-live": "polite" }));
    var buttons = node.appendChild(make("div", { "class": "buttons" }));
    buttons.appendChild(make("button", { type: "button", on: { click: function () { download(table.place.session.family + "-candidates.csv", candidatesCsv(table.place, table.rows)); } } }, "CSV of these"));
    buttons.appendChild(make("button", { type: "button", on: { click: function () { download(table.place.session.family + "-session.csv", sessionCsv(s)); } } }, "CSV of the session"));
    buttons.appendChild(make("button", { type: "button", on: { click: function () { download(table.place.session.family + "-counters.csv", countersCsv(s)); } } }, "CSV of counters"));
    buttons.appendChild(make("button", { type: "button", on: { click: function () { download(table.place.session.family + "-samples.csv", samplesCsv(s)); } } }, "CSV of samples"));
    buttons.appendChild(make("button", { type: "button", on: { click: function () { download("report.json", holder.textContent, "application/json"); } } }, "JSON of all"));
    var element = node.appendChild(make("div", { "class": "scroll", tabindex: "0", role: "region", "aria-label": "candidates" })).appendChild(make("table", {}));
    var head = element.appendChild(make("thead", {})).appendChild(make("tr", {}));
    columns.forEach(function (column, i) {
      var cell = head.appendChild(make("th", { scope: "col" }));
      if (column.number) cell.className = "n";
      cell.appendChild(make("button", { type: "button", on: { click: function () {
        table.down = table.sort === i && !table.down;
        table.sort = i;
        fillTable(s, table.place);
      } } }, column.name));
      table.heads.push(cell);
    });
    table.body = element.appendChild(make("tbody", { on: { click: function (event) {
      var row = event.target.closest("tr");
      if (row) choose(table.place, +row.dataset.row);
    } } }));
    table.more = node.appendChild(make("button", { type: "button", on: { click: function () { moreRows(table); } } }, "more rows"));
    tables[s] = table;
  }

  // --- downloads
  function field(value) {
    var text = value === null || value === undefined ? "" : String(value);
    return /[",\n\r]/.test(text) ? '"' + text.replace(/"/g, '""') + '"' : text;
  }
  function csv(rows) { return rows.map(function (row) { return row.map(field).join(","); }).join("\r\n") + "\r\n"; }
  function candidateRows(place, list) {
    var of = place.problem.candidates;
    return list.map(function (c) {
      return [of.id[c], place.problem.problem, data.outcomes[of.outcome[c]], median(place.problem, "cold", c), median(place.problem, "warm", c),
              comparable(place.problem, "cold", c), comparable(place.problem, "warm", c), of.registers[c], of.local_bytes[c], of.static_smem[c], of.dynamic_smem[c], of.blocks_per_sm[c], of.occupancy[c], of.compile_seconds[c]]
        .concat(place.session.parameters.map(function (parameter, i) { var v = of.values[i][c]; return v === null ? "" : parameter.values[v]; }));
    });
  }
  function candidateHead(session) {
    return ["candidate", "problem", "outcome", "cold_ns", "warm_ns", "cold_comparable_ns", "warm_comparable_ns", "registers", "local_bytes", "static_smem", "dynamic_smem", "blocks_per_sm", "occupancy", "compile_seconds"]
      .concat(session.parameters.map(function (parameter) { return parameter.name; }));
  }
  function candidatesCsv(place, list) { return csv([candidateHead(place.session)].concat(candidateRows(place, list))); }
  function sessionCsv(s) {
    var rows = [candidateHead(data.sessions[s])];
    data.sessions[s].problems.forEach(function (problem) {
      rows = rows.concat(candidateRows({ session: data.sessions[s], problem: problem }, problem.candidates.id.map(function (id, c) { return c; })));
    });
    return csv(rows);
  }
  function eachProfile(s, visit) {
    data.sessions[s].problems.forEach(function (problem) {
      ["cold", "warm"].forEach(function (cache) { if (problem[cache]) ["winner", "default"].forEach(function (who) { visit(problem, cache, who); }); });
    });
  }
  function countersCsv(s) {
    var rows = [["problem", "cache", "which", "kind", "name", "value"]];
    eachProfile(s, function (problem, cache, who) {
      var profile = problem[cache].profiles[who];
      if (!profile) return;
      profile.waits.forEach(function (wait) {
        rows.push([problem.problem, cache, who, "samples_share", wait.name, wait.samples_share]);
        rows.push([problem.problem, cache, who, "latency_share", wait.name, wait.latency_share]);
      });
      Object.keys(profile.counters).forEach(function (name) { rows.push([problem.problem, cache, who, "counter", name, profile.counters[name]]); });
    });
    return csv(rows);
  }
  function samplesCsv(s) {
    var rows = [["problem", "cache", "which", "sample", "ns"]];
    data.sessions[s].problems.forEach(function (problem) {
      ["cold", "warm"].forEach(function (cache) {
        if (problem[cache]) ["winner", "default", "runner_up"].forEach(function (who) {
          problem[cache].samples[who].forEach(function (ns, i) { rows.push([problem.problem, cache, who, i, ns]); });
        });
      });
    });
    return csv(rows);
  }
  function download(name, text, type) {
    var link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: type || "text/csv" })) });
    document.body.appendChild(link);
    link.click();
    link.remove();
    setTimeout(function () { URL.revokeObjectURL(link.href); }, 1000);
  }

  // --- heat map of two chosen parameters
  function heat(place) {
    var box = place.node.querySelector(".heatbox");
    if (!box || box.dataset.ready) return;
    var table = box.querySelector("table.heat"), rows = +table.dataset.rows, columnsOf = +table.dataset.columns;
    box.dataset.ready = "1";
    var row = make("div", { "class": "buttons" });
    function select(name, value, set) {
      var label = make("label", {}, name + " "), list = make("select", { on: { change: function () { set(+list.value); drawHeat(place, table, rows, columnsOf); } } });
      place.session.parameters.forEach(function (parameter, i) {
        if (parameter.values.length < 2 || parameter.values.length > 24) return;
        var option = make("option", { value: i }, parameter.name);
        option.selected = i === value;
        list.appendChild(option);
      });
      label.appendChild(list);
      row.appendChild(label);
    }
    select("rows", rows, function (value) { rows = value; });
    select("columns", columnsOf, function (value) { columnsOf = value; });
    box.insertBefore(row, box.firstChild);
  }
  function drawHeat(place, table, rows, across) {
    var session = place.session, of = place.problem.candidates, best = {}, tried = {}, least = Infinity, most = 0;
    of.id.forEach(function (id, c) {
      var key = of.values[rows][c] + ":" + of.values[across][c], ns = comparable(place.problem, place.cache, c);
      tried[key] = true;
      tried["r" + of.values[rows][c]] = tried["c" + of.values[across][c]] = true;
      if (ns !== null && ns > 0 && !(ns >= best[key])) best[key] = ns;
    });
    Object.keys(best).forEach(function (key) { least = Math.min(least, best[key]); most = Math.max(most, best[key]); });
    table.textContent = "";
    var head = table.appendChild(make("thead", {})).appendChild(make("tr", {})), body = table.appendChild(make("tbody", {}));
    head.appendChild(make("th", { scope: "col" }, session.parameters[rows].name + " ↓ " + session.parameters[across].name + " →"));
    session.parameters[across].values.forEach(function (value, c) { if (tried["c" + c]) head.appendChild(make("th", { scope: "col", "class": "n" })).appendChild(make("code", {}, value)); });
    session.parameters[rows].values.forEach(function (value, r) {
      if (!tried["r" + r]) return;
      var line = body.appendChild(make("tr", {}));
      line.appendChild(make("th", { scope: "row" })).appendChild(make("code", {}, value));
      session.parameters[across].values.forEach(function (other, c) {
        if (!tried["c" + c]) return;
        var key = r + ":" + c, ns = best[key];
        if (!tried[key]) line.appendChild(make("td", {}));
        else if (ns === undefined) line.appendChild(make("td", { "class": "hatch" }, "failed"));
        else line.appendChild(make("td", { "class": "n h" + Math.floor((most > least ? 1 - Math.log(ns / least) / Math.log(most / least) : 1) * 8.999) }, time(ns)));
      });
    });
  }

  // --- choosing a problem
  var input = null, hint = null, problemList = null, cacheButtons = {};
  function show(place, keepScroll) {
    state.place = place;
    places.forEach(function (one) {
      if (one.s !== place.s) return;
      one.node.hidden = one !== place;
      if (one === place) one.node.open = true;
    });
    if (problemList) problemList.value = place.s + ":" + place.p;
    Object.keys(cacheButtons).forEach(function (cache) {
      cacheButtons[cache].setAttribute("aria-pressed", String(place.cache === cache));
      cacheButtons[cache].disabled = !placeOf(place.s, place.p, cache);
    });
    chartsOf(place);
    heat(place);
    reachableSoon();
    applyFilter(place);
    if (!keepScroll) place.node.scrollIntoView();
  }
  function sayThatItScrolls(node, wider) {
    var hint = node.previousElementSibling, has = hint && hint.classList.contains("sideways");
    node.classList.toggle("wider", wider);
    if (wider && !has) node.parentNode.insertBefore(make("p", { "class": "sideways", "aria-hidden": "true" }, "wider than the page: scroll sideways →"), node);
    if (!wider && has) hint.remove();
  }
  // Only what does scroll is a stop for the keyboard.
  function reachable() {
    var boxes = all(".scroll").filter(function (node) { return node.clientWidth > 0; }); // what is closed has no size yet
    var scrolls = boxes.map(function (node) { return node.scrollWidth > node.clientWidth || node.scrollHeight > node.clientHeight; });
    var wider = boxes.map(function (node) { return node.scrollWidth > node.clientWidth + 1; });
    boxes.forEach(function (node, i) { // all is read before anything is written: one layout, not one a box
      if (scrolls[i]) node.setAttribute("tabindex", "0");
      else node.removeAttribute("tabindex");
      sayThatItScrolls(node, wider[i]);
    });
  }
  var waiting = false;
  function reachableSoon() {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(function () { waiting = false; reachable(); });
  }
  function byHash() {
    var match = /^#s(\d+)p(\d+)(cold|warm)$/.exec(location.hash), place = match && placeOf(+match[1], +match[2], match[3]);
    if (place) show(place);
    return !!place;
  }
  function tools() {
    var node = document.getElementById("tools");
    var shown = places.filter(function (one, i) { return places.findIndex(function (other) { return other.s === one.s && other.p === one.p; }) === i; });
    if (shown.length > 1) {
      problemList = make("select", { "aria-label": "problem", on: { change: function () {
        var parts = problemList.value.split(":");
        show(placeOf(+parts[0], +parts[1], state.place.cache) || placeOf(+parts[0], +parts[1], state.place.cache === "cold" ? "warm" : "cold"));
      } } });
      data.sessions.forEach(function (session, s) {
        var group = data.sessions.length > 1 ? problemList.appendChild(make("optgroup", { label: session.label })) : problemList;
        session.problems.forEach(function (problem, p) { group.appendChild(make("option", { value: s + ":" + p }, sizes(problem.problem))); });
      });
      node.appendChild(problemList);
    }
    var both = places.some(function (one) { return one.cache === "cold"; }) && places.some(function (one) { return one.cache === "warm"; });
    if (both) {
      var group = node.appendChild(make("span", { "class": "group", role: "group", "aria-label": "state of the cache" }));
      ["cold", "warm"].forEach(function (cache) {
        cacheButtons[cache] = group.appendChild(make("button", { type: "button", on: { click: function () {
          var place = placeOf(state.place.s, state.place.p, cache);
          if (place) show(place, true);
        } } }, cache));
      });
    }
    input = make("input", { type: "search", placeholder: "filter: BLOCK=256", "aria-label": "filter configurations", title: "NAME=VALUE,VALUE  NAME>=NUMBER  time<20us  registers<=64  outcome=wrong, or a part of the configuration", on: { input: function () { state.filter = input.value; if (state.place) applyFilter(state.place); } } });
    node.appendChild(input);
    hint = node.appendChild(make("span", { "class": "hint", "aria-live": "polite" }));
  }

  // --- begin
  if (!places.length) return;
  state.cache = data.cache;
  tools();
  all(".data[data-session]").forEach(function (node) { makeTable(+node.dataset.session, node.querySelector(".candidates")); });
  all(".take").forEach(function (node) { node.insertBefore(copyButton(node.querySelector(".config").textContent.trim().replace(/\s+/g, " "), "copy"), node.firstChild).classList.add("copy"); });
  all("pre.command").forEach(function (node) { node.insertBefore(copyButton(node.textContent, "copy"), node.firstChild).classList.add("copy"); });
  all("code.id[data-c]").forEach(function (node) {
    var holderOf = node.closest("details.problem"), place = holderOf && places.filter(function (one) { return one.node === holderOf; })[0];
    if (!place) return;
    node.setAttribute("role", "button");
    node.setAttribute("tabindex", "0");
    node.addEventListener("click", function () { choose(place, +node.dataset.c); });
    node.addEventListener("keydown", function (event) { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(place, +node.dataset.c); } });
  });
  addEventListener("hashchange", byHash);
  addEventListener("resize", reachableSoon);
  all("details").forEach(function (node) { node.addEventListener("toggle", reachableSoon); });
  data.sessions.forEach(function (session, s) {
    var first = places.filter(function (one) { return one.s === s && one.p === session.lead && one.cache === data.cache; })[0] || places.filter(function (one) { return one.s === s; })[0];
    if (first) show(first, true);
  });
  if (!byHash()) show(placeOf(0, data.sessions[0].lead, data.cache) || places[0], true);
  document.documentElement.classList.add("ready");
})();
