/**
 * Reports whether the whole text matches the pattern. `*` stands for any characters; all others stand for themselves.
 */
export function matchesPattern(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return text === pattern;
  if (!text.startsWith(head)) return false;
  let from = head.length;
  for (const part of rest) {
    const at = text.indexOf(part, from);
    if (at < 0) return false;
    from = at + part.length;
  }
  return text.length - tail.length >= from && text.endsWith(tail);
}

/**
 * Reports whether every text that matches `narrow` also matches `wide`. A star in `narrow` can only be matched by a
 * star in `wide`.
 */
export function coversPattern(wide: string, narrow: string): boolean {
  return matchesPattern(wide, narrow.replaceAll('*', '\0'));
}

/** Reports whether some text matches both patterns. */
export function patternsOverlap(a: string, b: string): boolean {
  const seen = new Set<number>();
  const meet = (at: number, bt: number): boolean => {
    const place = at * (b.length + 1) + bt;
    if (seen.has(place)) return false;
    seen.add(place);
    if (at === a.length && bt === b.length) return true;
    if (a[at] === '*') return meet(at + 1, bt) || (bt < b.length && meet(at, bt + 1));
    if (b[bt] === '*') return meet(at, bt + 1) || (at < a.length && meet(at + 1, bt));
    return at < a.length && a[at] === b[bt] && meet(at + 1, bt + 1);
  };
  return meet(0, 0);
}

/**
 * Returns a comparison that sorts exact texts before patterns, and longer patterns before shorter ones. In the sorted
 * list, the first match is the most specific.
 */
export function bySpecificity<T>(patternOf: (item: T) => string): (a: T, b: T) => number {
  const isPattern = (item: T) => Number(patternOf(item).includes('*'));
  return (a, b) => isPattern(a) - isPattern(b) || patternOf(b).length - patternOf(a).length;
}
