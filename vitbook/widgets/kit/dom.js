// What every widget does with its page: elements, names, the theme, and a model's changes.

/** An element. on<event>: a listener; a property where the element has one of that name, else an attribute; undefined is left out. */
export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** The start of this view's ids. At random, since every widget of a page brings a copy of this script. */
export const uid = (name) => `${name}-${Math.random().toString(36).slice(2, 9)}`;

export const bytesOf = (view) => view.buffer.slice(view.byteOffset, view.byteOffset + view.byteLength);

export const isDark = () =>
  document.documentElement.dataset.theme === "dark" ||
  document.body.dataset.jpThemeLight === "false" ||
  document.body.classList.contains("vscode-dark");

/** Calls `act` whenever the reader changes between light and dark, until the signal ends it. */
export function onTheme(act, signal) {
  const theme = new MutationObserver(act);
  for (const target of [document.documentElement, document.body]) {
    theme.observe(target, { attributes: true, attributeFilter: ["data-theme", "data-jp-theme-light"] });
  }
  signal.addEventListener("abort", () => theme.disconnect());
}

/** Calls `act` whenever one of these of the model changes, until the signal ends it. */
export function onChange(model, names, act, signal) {
  for (const name of names) {
    model.on(`change:${name}`, act);
    signal.addEventListener("abort", () => model.off(`change:${name}`, act));
  }
}

/** Several choices at once, told to the kernel where there is one. */
export function put(model, changes) {
  for (const [name, value] of Object.entries(changes)) model.set(name, value);
  model.save_changes();
}
