// The browser's side of the page. It draws `model.state` and sends what the person does; it decides nothing.
// Everything that comes from the data is set as text, never as HTML.

const KEYS = {y: "together", n: "apart", u: "unsure"}
const PICK_KEYS = {t: "together", p: "apart", i: "unsure"}
// The marks of the picture, in its order.
const MARKS = ["●", "■", "▲", "◆", "▼", "✚", "⬢"]
const METRICS = [["", "plain"], ["learned", "learned, if links not used for it agree"], ["itml", "learned from the links"]]
const TABS = [["ask", "Ask me"], ["links", "Links"], ["clusters", "Clusters"], ["settings", "Settings"], ["keep", "Keep"]]

// Makes an element; strings become text nodes.
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value)
    else if (name === "style") node.style.cssText = value
    else if (["value", "checked", "disabled", "hidden"].includes(name)) node[name] = value
    else node.setAttribute(name, value === true ? "" : value)
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false))
  return node
}

// A bin, drawn: fonts without pictures show a box instead of the sign.
function bin() {
  const space = "http://www.w3.org/2000/svg"
  const icon = document.createElementNS(space, "svg")
  const path = document.createElementNS(space, "path")
  for (const [name, value] of Object.entries({viewBox: "0 0 16 16", width: "16", height: "16", "aria-hidden": "true"})) icon.setAttribute(name, value)
  path.setAttribute("d", "M2.5 4h11M6 4V2.5h4V4M4 4l.7 9.5h6.6L12 4M6.6 6.5v4.7M9.4 6.5v4.7")
  for (const [name, value] of Object.entries({fill: "none", stroke: "currentColor", "stroke-width": "1.3"})) path.setAttribute(name, value)
  icon.append(path)
  return icon
}

const number = (value) => Number(value.toPrecision(6)).toLocaleString("en", {maximumFractionDigits: 6})
const count = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`

class Desk {
  constructor(model) {
    this.model = model
    this.tab = "ask"
    this.parts = new Map()
    const dark = window.matchMedia("(prefers-color-scheme: dark)")
    this.theme = dark.matches ? "dark" : "light"
    this.build()
    this.wear(this.theme)
    dark.addEventListener("change", () => this.wear(dark.matches ? "dark" : "light"))
    this.onkey = (event) => this.key(event)
    document.addEventListener("keydown", this.onkey)
  }

  send(act, values = {}) {
    this.model.send_msg({act, ...values})
  }

  get state() {
    return this.model.state
  }

  // The frame: made once. What changes goes into named parts.
  build() {
    const part = (name, tag = "div", attributes = {}) => {
      const node = el(tag, {class: name, ...attributes})
      this.parts.set(name, {node, last: null})
      return node
    }
    const header = el("header", {},
      part("title", "h1"),
      part("facts", "p", {role: "status", "aria-live": "polite"}),
      part("history"),
      el("button", {
        class: "quiet", "aria-label": "light or dark", title: "light or dark",
        onclick: () => this.wear(this.theme === "dark" ? "light" : "dark"),
      }, "◐"),
    )
    const tabs = el("div", {role: "tablist", "aria-label": "what to do", class: "tabs"},
      TABS.map(([name, label]) => el("button", {
        role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => this.turn(name),
      }, label)))
    tabs.addEventListener("keydown", (event) => {
      const step = {ArrowRight: 1, ArrowLeft: -1}[event.key]
      if (!step) return
      const at = TABS.findIndex(([name]) => name === this.tab)
      const next = TABS[(at + step + TABS.length) % TABS.length][0]
      this.turn(next)
      this.root.querySelector(`#tab-${next}`).focus()
    })
    const panels = TABS.map(([name]) => {
      const node = part(`panel-${name}`, "section", {role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`})
      return node
    })
    this.plot = el("div", {class: "plot"})
    this.root = el("div", {class: "studio"}, header,
      el("main", {},
        el("div", {class: "left"},
          part("note", "p", {role: "status"}), part("error", "p", {role: "alert"}), part("trouble", "div", {role: "alert"}),
          this.plot, this.pickbar(part)),
        el("div", {class: "right"}, tabs, ...panels)))
    this.turn("ask")
  }

  pickbar(part) {
    const find = el("input", {
      type: "text", class: "find", placeholder: "row to pick …", "aria-label": "name of a row to pick", autocomplete: "off",
      onkeydown: (event) => {
        if (event.key === "Enter" && find.value.trim()) {
          this.send("pick", {name: find.value})
          find.value = ""
        }
      },
    })
    return el("div", {class: "pickbar"}, find, part("picked"))
  }

  turn(name) {
    this.tab = name
    for (const [other] of TABS) {
      const tab = this.root.querySelector(`#tab-${other}`)
      tab.setAttribute("aria-selected", other === name)
      tab.tabIndex = other === name ? 0 : -1
      this.root.querySelector(`#panel-${other}`).hidden = other !== name
    }
  }

  wear(theme) {
    this.theme = theme
    this.root.dataset.theme = theme
    document.documentElement.style.colorScheme = theme
    document.body.style.cssText = `margin:0;background:${theme === "dark" ? "#0d1117" : "#f4f6f8"}`
    this.send("theme", {dark: theme === "dark"})
    if (this.state.rows) this.draw(true)
  }

  // A part is drawn again only when its values changed: what has the focus keeps it.
  fill(name, values, make, again) {
    const part = this.parts.get(name)
    const text = JSON.stringify(values)
    if (text === part.last && !again) return
    part.last = text
    const focused = part.node.getRootNode().activeElement
    const id = focused && part.node.contains(focused) ? focused.id : ""
    part.node.replaceChildren(...[make()].flat().filter((child) => child))
    if (id) part.node.querySelector(`#${CSS.escape(id)}`)?.focus()
  }

  draw(again = false) {
    const s = this.state
    if (!s.settings) return
    const fill = (name, values, make) => this.fill(name, values, make, again)
    fill("title", s.title, () => [s.title])
    fill("facts", [s.rows, s.drawn, s.fit && [s.fit.sse, s.fit.isPreview, s.fit.moved], s.saving], () => this.facts(s))
    fill("history", [s.canUndo, s.canRedo], () => [
      el("button", {id: "undo", disabled: !s.canUndo, title: "Ctrl+Z", onclick: () => this.send("undo")}, "↶ Undo"),
      el("button", {id: "redo", disabled: !s.canRedo, title: "Ctrl+Shift+Z", onclick: () => this.send("redo")}, "↷ Redo"),
    ])
    fill("note", s.note, () => [s.note])
    fill("error", s.error, () => [s.error])
    fill("trouble", s.trouble, () => this.trouble(s.trouble))
    fill("picked", [s.picked, s.pickedNames, s.pickedCount, s.moves], () => this.picked(s))
    fill("panel-ask", [s.question, s.askingDone, s.sure, s.counts, !!s.trouble, s.canUndo], () => this.ask(s))
    fill("panel-links", [s.links, s.counts, s.linksDrawn], () => this.links(s))
    fill("panel-clusters", [s.fit, s.proof], () => this.clusters(s))
    fill("panel-settings", [s.settings, s.axes], () => this.settings(s))
    fill("panel-keep", [s.saving], () => this.keep(s))
  }

  facts(s) {
    const sample = s.drawn < s.rows ? `${count(s.rows, "row")}, a sample of ${s.drawn.toLocaleString("en")} drawn` : count(s.rows, "row")
    const sse = s.fit ? `SSE ${number(s.fit.sse)}${s.fit.isPreview ? " …" : ""}` : "clustering …"
    // Narrow screens show too that only a sample is drawn.
    const moved = s.fit && s.fit.moved !== null ? el("span", {class: "moved"}, `${count(s.fit.moved, "row")} moved`) : null
    const parts = [el("span", {class: s.drawn < s.rows ? "sample" : "rows"}, sample), el("span", {class: "sse"}, sse), ...(moved ? [moved] : [])]
    if (s.saving) {
      const words = s.saving.problem ? s.saving.problem : s.saving.saved ? "saved" : "saving …"
      parts.push(el("span", {class: s.saving.problem ? "bad" : "good", title: s.saving.file}, words))
    }
    return parts
  }

  trouble(trouble) {
    if (!trouble) return []
    return [
      el("strong", {}, "Not possible. "), el("span", {}, trouble.message),
      el("p", {class: "hint"}, "The picture shows the last clustering that was possible."),
      el("ul", {class: "links"}, trouble.links.map((link) => this.link(link, "trouble"))),
    ]
  }

  picked(s) {
    if (!s.pickedCount) return [el("span", {class: "hint"}, s.isMap ? "click an area to move it to another cluster, or areas to link them" : "click rows in the picture, or draw a lasso around them")]
    const names = s.pickedNames.slice(0, 4).join(", ") + (s.pickedCount > 4 ? `, … (${s.pickedCount})` : "")
    const button = (kind, words, key) => el("button", {
      id: `pick-${kind}`, class: kind, disabled: s.pickedCount < 2, onclick: () => this.send("link", {kind}),
    }, words, el("kbd", {}, key))
    return [
      el("span", {class: "names"}, names),
      s.isMap && s.pickedCount === 1 && !s.moves.length ? el("span", {class: "hint"}, "borders on no other cluster") : null,
      ...s.moves.map((move) => el("button", {id: `move-${move.cluster}`, onclick: () => this.send("move", move)}, `Move to ${move.cluster}`)),
      button("together", "Together", "T"), button("apart", "Apart", "P"), button("unsure", "Unsure", "I"),
      el("button", {id: "unpick", class: "quiet", onclick: () => this.send("unpick")}, "Clear", el("kbd", {}, "Esc")),
    ]
  }

  ask(s) {
    const q = s.question
    const sure = this.sure(s)
    if (s.trouble) return [el("p", {class: "hint"}, "First choose which link goes: these cannot all hold."), sure]
    if (!q) return [el("p", {class: "hint"}, s.askingDone ? "Nothing is left to ask: every other pair follows from the links." : "searching for a question …"), sure]
    const answer = (kind, words, key) => el("button", {
      id: `answer-${kind}`, class: `${kind} big`, onclick: () => this.answer(kind),
    }, words, el("kbd", {}, key))
    return [
      el("h2", {}, "Do these two belong together?"),
      el("div", {class: "answers"},
        answer("together", "Yes", "Y"), answer("apart", "No", "N"), answer("unsure", "Unsure", "U"),
        el("button", {id: "answer-back", class: "quiet", disabled: !s.canUndo, onclick: () => this.send("undo")}, "Back", el("kbd", {}, "B"))),
      el("table", {class: "records"},
        el("thead", {}, el("tr", {}, el("th", {scope: "col"}, ""),
          el("th", {scope: "col"}, el("span", {class: "mark"}, "A"), " ", q.a),
          el("th", {scope: "col"}, el("span", {class: "mark"}, "B"), " ", q.b))),
        el("tbody", {}, q.fields.map((field) => this.field(field)))),
      el("p", {class: "hint"}, "● differs clearly: other text, or numbers more than a standard deviation apart"),
      sure,
    ]
  }

  field(field) {
    const cell = (side) => el("td", {}, side.picture ? el("img", {src: side.picture, alt: side.text}) : side.text)
    const mark = field.clearly ? "●" : ""
    return el("tr", {class: field.clearly ? "clearly" : field.differs ? "differs" : "same"},
      el("th", {scope: "row"}, field.name, mark && el("span", {class: "dot", title: "differs clearly"}, ` ${mark}`)),
      cell(field.a), cell(field.b))
  }

  sure(s) {
    const {answers, latest, atHome} = s.sure
    const right = latest.filter(Boolean).length
    const dots = el("span", {class: "dots", "aria-hidden": "true"}, latest.map((hit) => el("i", {class: hit ? "hit" : "miss"}, hit ? "✓" : "✗")))
    return el("div", {class: "sure"},
      el("h3", {}, "How sure is it?"),
      el("p", {}, latest.length
        ? `It had guessed ${right} of your last ${count(latest.length, "answer")}. ` : "No question was answered yet. ", dots),
      atHome === null ? null : el("p", {},
        el("meter", {min: 0, max: 1, value: atHome, "aria-label": "rows with a clear home"}),
        ` ${Math.round(100 * atHome)}% of the rows have a clear home`),
      el("p", {class: "hint"}, `${s.counts.together} together, ${s.counts.apart} apart, ${s.counts.unsure} unsure; ${count(answers, "question")} answered`))
  }

  answer(kind) {
    const q = this.state.question
    if (q && !this.state.trouble) this.send("answer", {kind, pair: q.pair})
  }

  link(link, where) {
    const sign = {together: "—", apart: "╌", unsure: "?"}[link.kind]
    return el("li", {class: link.kind},
      el("span", {class: "pair"}, link.a, el("b", {"aria-label": link.kind}, ` ${sign} `), link.b),
      el("span", {class: "kind"}, link.kind, link.note && ` (${link.note})`),
      el("button", {
        id: `bin-${where}-${link.pair.join("-")}`, class: "quiet bin", title: "remove this link",
        "aria-label": `remove: ${link.a} ${link.kind} ${link.b}`, onclick: () => this.send("remove", {pair: link.pair}),
      }, bin()))
  }

  links(s) {
    const total = s.counts.together + s.counts.apart + s.counts.unsure
    const hidden = total - s.links.length
    return [
      el("h2", {}, `${count(total, "link")}`),
      total ? el("label", {class: "check"}, el("input", {
        id: "draw-links", type: "checkbox", checked: s.linksDrawn, onchange: (event) => this.send("draw-links", {on: event.target.checked}),
      }), " draw them in the picture") : el("p", {class: "hint"}, "None yet. Answer questions, or pick two rows in the picture."),
      el("ul", {class: "links"}, s.links.map((link) => this.link(link, "list"))),
      hidden > 0 ? el("p", {class: "hint"}, `and ${hidden} earlier ones`) : null,
    ]
  }

  clusters(s) {
    const fit = s.fit
    if (!fit) return [el("p", {class: "hint"}, "clustering …")]
    const most = Math.max(...fit.sizes.map((row) => Math.max(row.size, row.max ?? 0, row.min ?? 0)), 1)
    const share = (value) => `${(100 * value) / most}%`
    const colors = s.colors[this.theme]
    const bar = (row) => el("div", {class: "bar"},
      el("div", {class: "fill", style: `width:${share(row.size)};background:${colors[row.cluster % colors.length]}`}),
      row.min === null ? null : el("i", {class: "bound", style: `left:${share(row.min)}`, title: `at least ${row.min}`}),
      row.max === null ? null : el("i", {class: "bound", style: `left:${share(row.max)}`, title: `at most ${row.max}`}))
    const rows = fit.sizes.map((row) => [
      el("tr", {},
        el("th", {scope: "row"}, MARKS[row.cluster % 7], ` ${row.cluster}`), el("td", {class: "wide"}, bar(row)),
        el("td", {class: "n"}, number(row.size)),
        el("td", {class: "n hint"}, [row.min === null ? "" : `≥ ${number(row.min)}`, row.max === null ? "" : `≤ ${number(row.max)}`].join(" "))),
      row.note ? el("tr", {}, el("td", {}), el("td", {colspan: 3, class: "hint"}, row.note)) : null,
    ])
    const price = (link) => el("li", {class: link.kind}, el("span", {class: "pair"}, `${link.a} and ${link.b} ${link.kind}`),
      el("span", {class: "n"}, number(link.price)))
    return [
      el("h2", {}, "SSE ", number(fit.sse)),
      el("p", {class: "hint"}, fit.isPreview ? "a preview; clustering from scratch …" : "what the seed gives for these links and settings"),
      fit.measured ? el("p", {class: "hint measured"}, fit.measured) : null,
      el("table", {class: "sizes"}, el("thead", {}, el("tr", {},
        el("th", {scope: "col"}, "cluster"), el("th", {scope: "col"}, ""), el("th", {scope: "col", class: "n"}, fit.counts), el("th", {scope: "col"}, ""))),
        el("tbody", {}, rows.flat().filter(Boolean))),
      el("h3", {}, "What links cost"),
      !fit.priced ? el("p", {class: "hint"}, "working out …")
        : fit.prices.length ? el("ul", {class: "links"}, fit.prices.map(price))
        : el("p", {class: "hint"}, fit.unpriced ? `${count(fit.unpriced, "link")} may cost something; too many rows to price them`
          : "no link costs anything at these centers"),
      fit.prices.length ? el("p", {class: "hint"}, "SSE that would be saved without the link, centers unchanged") : null,
      el("h3", {}, "How good is it?"), ...this.proof(s.proof),
    ]
  }

  proof(proof) {
    const prove = el("button", {id: "prove", onclick: () => this.send("prove", {seconds: 60})}, "Prove it")
    if (!proof) return [el("p", {class: "hint"}, "How far from the best possible? Searches for a proof for up to a minute."), prove]
    const bound = proof.bound === null ? "no bound yet"
      : `no clustering under these constraints is below ${number(proof.bound)}: gap ${(100 * proof.gap).toPrecision(2)}%`
    if (proof.status === "running") {
      return [el("p", {}, `searching for ${Math.round(proof.seconds)} s, ${count(proof.nodes, "node")}; ${bound}`), el("progress", {"aria-label": "searching"}),
        el("button", {id: "stop", onclick: () => this.send("stop")}, "Stop")]
    }
    const words = proof.status === "failed" ? `No proof: ${proof.message}`
      : proof.optimal ? `Proved: this is the best clustering that exists under these constraints (${proof.seconds.toFixed(1)} s).`
      : `${proof.status === "stopped" ? "Stopped" : "Ended"} after ${proof.seconds.toFixed(1)} s; ${bound}.`
    const better = proof.better === null ? null : el("p", {}, `On the way a better clustering was found, SSE ${number(proof.better)}; the picture shows it.`)
    return [el("p", {id: "proved", class: proof.optimal ? "good" : ""}, words), better, proof.optimal ? null : prove]
  }

  settings(s) {
    const {k, largestK, sizeMin, sizeMax, standardize, metric, features, keeps} = s.settings
    const set = (name, value) => this.send("set", {name, value})
    const shown = el("output", {for: "k"}, String(k))
    const slider = el("input", {
      id: "k", type: "range", min: 1, max: largestK, value: k,
      oninput: () => (shown.textContent = slider.value), onchange: () => set("k", Number(slider.value)),
    })
    slider.value = k
    const size = (id, words, value) => el("label", {class: "field"}, el("span", {}, words), el("input", {
      id, type: "text", value, placeholder: "none", title: "one number, or one per cluster: 30, 40, 50",
      onchange: (event) => set(id, event.target.value),
    }))
    const axis = (id, at) => {
      const box = el("select", {id, onchange: (event) => this.axes(at, event.target.value)}, el("option", {value: ""}, "main components"),
        features.map((feature) => el("option", {value: feature.name}, feature.name)))
      box.value = s.axes ? s.axes[at] : ""
      return box
    }
    const measure = el("select", {id: "metric", onchange: () => set("metric", measure.value)},
      METRICS.map(([value, words]) => el("option", {value}, words)))
    measure.value = metric
    return [
      el("h2", {}, "How to cluster"),
      el("label", {class: "field"}, el("span", {}, "clusters ", shown), slider),
      size("size_min", "least size", sizeMin), size("size_max", "largest size", sizeMax),
      el("label", {class: "check"}, el("input", {
        id: "standardize", type: "checkbox", checked: standardize, onchange: (event) => set("standardize", event.target.checked),
      }), " standardise: every feature counts alike"),
      el("label", {class: "field"}, el("span", {}, "distances"), measure),
      el("label", {class: "check"}, el("input", {
        id: "keep-clusters", type: "checkbox", checked: keeps, onchange: (event) => this.send(event.target.checked ? "keep" : "let-go"),
      }), " keep these clusters: few rows leave them from here on"),
      el("fieldset", {}, el("legend", {}, "features"), features.map((feature, i) => el("label", {class: "check"}, el("input", {
        id: `feature-${i}`, type: "checkbox", checked: feature.on, onchange: (event) => set("features",
          features.filter((other) => (other === feature ? event.target.checked : other.on)).map((other) => other.name)),
      }), ` ${feature.name}`))),
      el("h2", {}, "What to see"),
      el("label", {class: "field"}, el("span", {}, "across"), axis("axis-x", 0)),
      el("label", {class: "field"}, el("span", {}, "up"), axis("axis-y", 1)),
    ]
  }

  // The choice comes with its event: the panel, and with it the box, may have been drawn anew since.
  axes(at, name) {
    if (!name) return this.send("axes", {axes: null})
    const names = this.state.settings.features.map((feature) => feature.name)
    const other = this.root.querySelector(`#axis-${"yx"[at]}`)
    // Two columns or none: the other axis takes the first column that is free.
    if (!other.value) other.value = names.find((free) => free !== name) ?? names[0]
    this.send("axes", {axes: at ? [other.value, name] : [name, other.value]})
  }

  keep(s) {
    const get = (what, words, hint) => el("div", {class: "export"},
      el("button", {id: `export-${what}`, onclick: () => this.send("export", {what})}, words), el("span", {class: "hint"}, hint))
    const file = el("input", {
      id: "open", type: "file", accept: ".json,application/json", "aria-label": "open a session",
      onchange: async () => {
        const [chosen] = file.files
        if (chosen) this.send("open", {name: chosen.name, text: await chosen.text()})
        file.value = ""
      },
    })
    return [
      el("h2", {}, "Session"),
      el("p", {class: "hint"}, s.saving ? `Saved to ${s.saving.file} after every answer.` : "Not saved by itself: no file was named."),
      get("session", "Save a copy", "everything but the data, one JSON file"),
      el("label", {class: "field"}, el("span", {}, "open a session"), file),
      el("h2", {}, "Take away"),
      get("links", "Links", "a, b, answer: for --answers of every verb"),
      get("labels", "Labels", "the cluster of each row"),
      get("picture", "Picture", "PNG"),
      get("lines", "Python lines", "that give the same clustering"),
    ]
  }

  key(event) {
    const target = event.composedPath()[0]
    const typing = target instanceof HTMLElement && (target.isContentEditable || target.tagName === "SELECT"
      || (target.tagName === "INPUT" && target.type === "text"))
    if (typing) return
    const key = event.key.toLowerCase()
    if ((event.ctrlKey || event.metaKey) && key === "z") this.send(event.shiftKey ? "redo" : "undo")
    else if ((event.ctrlKey || event.metaKey) && key === "y") this.send("redo")
    else if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
    else if (key === "escape") this.send("unpick")
    else if (PICK_KEYS[key] && this.state.pickedCount > 1) this.send("link", {kind: PICK_KEYS[key]})
    else if (this.tab !== "ask") return
    else if (KEYS[key]) this.answer(KEYS[key])
    else if (key === "b" && this.state.canUndo) this.send("undo")
    else return
    event.preventDefault()
  }

  download({download, content}) {
    const bytes = Uint8Array.from(atob(content), (letter) => letter.charCodeAt(0))
    const link = el("a", {href: URL.createObjectURL(new Blob([bytes])), download})
    link.click()
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
  }
}

export function render({model}) {
  const desk = new Desk(model)
  desk.plot.append(model.get_child("picture"))
  model.on("state", () => desk.draw())
  // Some versions of Panel hand over the event, some what it carries.
  model.on("msg:custom", (event) => desk.download(event.data ?? event))
  model.on("remove", () => document.removeEventListener("keydown", desk.onkey))
  desk.draw()
  return desk.root
}
