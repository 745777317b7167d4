/** True when the whole text fits the pattern, in which `*` stands for any characters and all others for themselves. */
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

/** True when whatever fits `narrow` fits `wide`: its stars can stand for anything, so only a star of the other takes them. */
export function includesPattern(wide: string, narrow: string): boolean {
  return matchesPattern(wide, narrow.replaceAll('*', '\0'));
}

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

/** Orders patterns so that the first that fits decides: an exact text before any pattern, then the longest. */
export function byExactness<T>(patternOf: (item: T) => string): (a: T, b: T) => number {
  const isPattern = (item: T) => Number(patternOf(item).includes('*'));
  return (a, b) => isPattern(a) - isPattern(b) || patternOf(b).length - patternOf(a).length;
}
