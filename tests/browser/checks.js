// SPDX-License-Identifier: Apache-2.0
// What a report is asked in the browser. Every function gives a list of what is wrong, each with enough words to find it.
window.checks = (function () {
  "use strict";
  function name(node) {
    var text = (node.textContent || "").trim().replace(/\s+/g, " ").slice(0, 50), classes = node.getAttribute && node.getAttribute("class");
    return node.tagName.toLowerCase() + (node.id ? "#" + node.id : "") + (classes ? "." + classes.split(" ").join(".") : "") + (text ? " \"" + text + "\"" : "");
  }
  function isShown(node) {
    return node.checkVisibility ? node.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true }) : node.getClientRects().length > 0;
  }
  function openAll() { document.querySelectorAll("details").forEach(function (one) { one.open = true; }); }

  // Nothing is wider than the page; what is scrolls sideways in a box of its own.
  function overflow() {
    var wide = document.documentElement.clientWidth, wrong = [];
    if (document.documentElement.scrollWidth <= wide) return wrong;
    wrong.push("the page is " + document.documentElement.scrollWidth + " wide, the window " + wide);
    document.querySelectorAll("body *").forEach(function (node) {
      var box = node.getBoundingClientRect(), around = node.parentElement;
      if (node.closest("svg") || !box.width || box.right <= wide + 1) return;
      while (around !== document.body && !/auto|scroll|hidden|clip/.test(getComputedStyle(around).overflowX)) around = around.parentElement;
      if (around === document.body) wrong.push("ends at " + Math.round(box.right) + ": " + name(node));
    });
    return wrong.slice(0, 8);
  }
  // A box that scrolls sideways is reached by the keyboard and has a name.
  function scrolling() {
    var wrong = [];
    document.querySelectorAll("body *").forEach(function (node) {
      if (!/auto|scroll/.test(getComputedStyle(node).overflowX) || node.scrollWidth <= node.clientWidth + 1 || !isShown(node)) return;
      if (!node.hasAttribute("tabindex") && !node.querySelector("a,button,[tabindex]")) wrong.push("scrolls, but not by keyboard: " + name(node));
    });
    return wrong.slice(0, 12);
  }

  // --- contrast (WCAG 2.2, 1.4.3 and 1.4.11)
  var brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true }), known = {};
  brush.canvas.width = brush.canvas.height = 1;
  // Any colour of CSS, oklab and the like too, as the browser paints it.
  function parse(colour) {
    if (!colour || colour === "none") return null;
    if (!known[colour]) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = "#000";
      brush.fillStyle = colour;
      brush.fillRect(0, 0, 1, 1);
      var painted = brush.getImageData(0, 0, 1, 1).data;
      known[colour] = [painted[0], painted[1], painted[2], painted[3] / 255];
    }
    return known[colour];
  }
  function over(top, below) { var a = top[3]; return [0, 1, 2].map(function (i) { return top[i] * a + below[i] * (1 - a); }).concat(1); }
  function luminance(colour) {
    var linear = colour.slice(0, 3).map(function (v) { v /= 255; return v <= 0.04045 ? v / 12.92 : Math.pow((v + 0.055) / 1.055, 2.4); });
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  }
  function ratio(a, b) { var x = luminance(a), y = luminance(b); return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); }
  // What lies behind a place of the page, out of everything that is painted there below `node`.
  function behind(node, x, y) {
    var stack = document.elementsFromPoint(x, y), from = stack.indexOf(node), layers = [], base = [255, 255, 255, 1];
    if (from < 0) return null; // covered, or outside of the window
    stack.slice(from).some(function (one) {
      var style = getComputedStyle(one), colour = one instanceof SVGElement && one.tagName !== "svg" ? parse(style.fill) : parse(style.backgroundColor);
      if (colour && colour[3] > 0) layers.push(colour);
      return colour && colour[3] === 1;
    });
    return layers.reverse().reduce(function (below, layer) { return over(layer, below); }, base);
  }
  function contrast() {
    var wrong = [], seen = {}, walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), range = document.createRange(), asked = 0;
    while (walker.nextNode()) {
      var text = walker.currentNode, node = text.parentElement;
      if (!text.nodeValue.trim() || /^(SCRIPT|STYLE|OPTION)$/.test(node.tagName) || !isShown(node)) continue;
      var style = getComputedStyle(node), key = [style.color, style.fontSize, style.fontWeight, node.tagName, node.className, node.parentElement.className].join("|");
      if ((seen[key] = (seen[key] || 0) + 1) > 4) continue; // the fifth of its kind looks as the first
      range.selectNodeContents(text);
      var box = range.getClientRects()[0];
      if (!box || !box.width || box.bottom < 0 || box.top > innerHeight) continue;
      var background = behind(node, box.left + Math.min(box.width / 2, 20), box.top + box.height / 2), colour = parse(style.color);
      if (!background || !colour) continue;
      asked++;
      var size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
      var found = ratio(over(colour, background), background);
      if (found < (large ? 3 : 4.5)) wrong.push(found.toFixed(2) + ": " + name(node) + " " + style.color + " on " + background.slice(0, 3).map(Math.round));
    }
    if (asked < 5) wrong.push("only " + asked + " texts were looked at");
    return wrong.slice(0, 20);
  }

  // Every chart has a name and its figures beside it, as a table or in the row that it stands in.
  function charts() {
    var wrong = [], count = 0;
    document.querySelectorAll("svg").forEach(function (svg) {
      count++;
      if (svg.getAttribute("aria-hidden") !== "true" && !svg.getAttribute("aria-label") && !svg.querySelector("title")) wrong.push("a chart without a name: " + name(svg.parentElement));
      if (!svg.closest("table")) {
        var part = svg.parentElement, figure = svg.closest("figure"), next = figure && figure.nextElementSibling;
        if (next && next.querySelector("table")) return; // right below it
        while (part && part !== document.body && !part.querySelector("table")) part = part.parentElement;
        if (!part || part === document.body || part.matches("article, main")) wrong.push("a chart without a table: " + name(svg.parentElement));
      }
    });
    document.querySelectorAll(".boxed").forEach(function (box) { // a drawing of the style sheet: its figures are in its row
      count++;
      if (!box.closest("tr") || !/\d/.test(box.closest("tr").textContent)) wrong.push("a box without figures: " + name(box.parentElement));
      var drawn = getComputedStyle(box).backgroundImage.split("linear-gradient").length - 1;
      if (drawn !== 3) wrong.push("a box of " + drawn + " strokes: " + name(box.parentElement));
    });
    if (!count && !document.querySelectorAll("table.strips tbody tr").length) wrong.push("no chart at all");
    return wrong;
  }

  // What a screen reader and a keyboard need.
  function reading() {
    var wrong = [], ids = {}, last = 0;
    if (!document.documentElement.lang) wrong.push("no language");
    if (!document.title) wrong.push("no title");
    if (document.querySelectorAll("main").length !== 1) wrong.push("not one main");
    if (document.querySelectorAll("h1").length < 1) wrong.push("no h1");
    document.querySelectorAll("h1,h2,h3,h4,h5").forEach(function (head) {
      var level = +head.tagName[1];
      if (last && level > last + 1) wrong.push("from h" + last + " to h" + level + ": " + name(head));
      last = level;
    });
    document.querySelectorAll("[id]").forEach(function (node) { if (ids[node.id]) wrong.push("twice: #" + node.id); ids[node.id] = true; });
    document.querySelectorAll("a[href^='#']").forEach(function (link) { if (!ids[decodeURIComponent(link.hash.slice(1))]) wrong.push("leads nowhere: " + link.hash); });
    document.querySelectorAll("button,select,input,a,summary").forEach(function (node) {
      var label = node.textContent.trim() || node.getAttribute("aria-label") || node.getAttribute("title") || (node.labels && node.labels.length);
      if (!label) wrong.push("without a name: " + name(node));
    });
    document.querySelectorAll("th").forEach(function (head) { if (!head.scope) wrong.push("a head without scope: " + name(head)); });
    document.querySelectorAll("img:not([alt])").forEach(function (image) { wrong.push("an image without words: " + name(image)); });
    return wrong.slice(0, 12);
  }

  // Nothing that the page did not write itself.
  function foreign() {
    var wrong = [];
    document.querySelectorAll("img,iframe,object,embed,link,base,form,meta[http-equiv]").forEach(function (node) {
      if (!(node.tagName === "META" && /content-security-policy/i.test(node.httpEquiv)) && !(node.tagName === "LINK" && /^data:/.test(node.href))) wrong.push("foreign: " + name(node));
    });
    document.querySelectorAll("*").forEach(function (node) {
      for (var i = 0; i < node.attributes.length; i++)
        if (/^on/i.test(node.attributes[i].name)) wrong.push("handler: " + name(node) + " " + node.attributes[i].name);
      if (node.href && /^javascript:/i.test(node.href)) wrong.push("link: " + node.href);
    });
    return wrong.slice(0, 12);
  }
  return { openAll: openAll, overflow: overflow, scrolling: scrolling, contrast: contrast, charts: charts, reading: reading, foreign: foreign };
})();
