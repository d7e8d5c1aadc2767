// Elements without markup: everything that comes from data is text.

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

export function shown(value) {
  if (value === null || value === undefined || value === "") return "–";
  if (value === true) return "yes";
  if (value === false) return "no";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

// "dead_letter_queue" is "dead letter queue" for people.
export const words = (name) => name.replaceAll("_", " ").replaceAll("-", " ");
