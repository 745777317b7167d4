/** A list of a document that is shortened because it is too long for an answer. */
export interface CutList {
  /** The position of the list in the document, as a JSON pointer such as `/workspaces/0/entries`. */
  member: string;
  /** The number of items of the list that the answer contains. */
  shown: number;
  total: number;
}

/**
 * Copies a document with at most `limit` objects in all its lists together. Lists of plain values have at most `limit`
 * items each. `cut` names each list that was shortened.
 */
export function cutLists(document: object, limit: number): { document: object; cut: CutList[] } {
  const cut: CutList[] = [];
  let left = limit;
  const copyList = (list: readonly unknown[], member: string): unknown[] => {
    const shown: unknown[] = [];
    for (const [index, item] of list.entries()) {
      const isObject = typeof item === 'object' && item !== null;
      if (isObject ? left === 0 : shown.length === limit) break;
      if (isObject) left -= 1;
      shown.push(copyValue(item, `${member}/${index}`));
    }
    if (shown.length < list.length) cut.push({ member, shown: shown.length, total: list.length });
    return shown;
  };
  const copyValue = (value: unknown, member: string): unknown => {
    if (Array.isArray(value)) return copyList(value, member);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, copyValue(inner, `${member}/${escapeName(name)}`)]),
    );
  };
  return { document: copyValue(document, '') as object, cut };
}

/** Returns the list at a JSON pointer of a document; null if there is none. */
export function listAt(document: object, member: string): readonly unknown[] | null {
  let value: unknown = document;
  for (const name of member.split('/').slice(1).map(unescapeName)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return null;
    value = (value as Record<string, unknown>)[name];
  }
  return Array.isArray(value) ? value : null;
}

function escapeName(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescapeName(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~');
}
