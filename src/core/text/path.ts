export type Path = readonly PropertyKey[];

/** A path as people write it: `workspaces[0].signing.payload`. Keys that are no plain words are quoted. */
export function formatPath(path: Path): string {
  return path.reduce<string>((text, step) => {
    if (typeof step === 'number') return `${text}[${step}]`;
    const key = String(step);
    if (!/^\w+$/.test(key)) return `${text}[${JSON.stringify(key)}]`;
    return text === '' ? key : `${text}.${key}`;
  }, '');
}

/** The value at a path, or undefined when the path leads nowhere. */
export function valueAt(document: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, step) => (isGroup(value) ? value[step] : undefined), document);
}

/** A mapping's entries; empty for anything else, so that checks can go on beside a mistake. */
export function groupOf(value: unknown): Record<PropertyKey, unknown> {
  return isGroup(value) && !Array.isArray(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function isGroup(value: unknown): value is Record<PropertyKey, unknown> {
  return value !== null && typeof value === 'object';
}
