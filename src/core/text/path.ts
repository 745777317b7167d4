export type Path = readonly PropertyKey[];

/** Formats a path for people: `workspaces[0].signing.payload`. Keys that are not plain words are quoted. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    const key = String(step);
    if (!/^\w+$/.test(key)) return `${text}[${JSON.stringify(key)}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}

/** Returns the value at a path in a document; undefined if the document has no such path. */
export function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => (isGroup(value) ? value[step] : undefined), document);
}

/** Returns the value if it is a mapping, otherwise an empty mapping, so that checks can continue after a mistake. */
export function asMapping(value: unknown): Record<PropertyKey, unknown> {
  return isGroup(value) && !Array.isArray(value) ? value : {};
}

/** Returns the value if it is a list, otherwise an empty list, so that checks can continue after a mistake. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isGroup(value: unknown): value is Record<PropertyKey, unknown> {
  return value !== null && typeof value === 'object';
}
