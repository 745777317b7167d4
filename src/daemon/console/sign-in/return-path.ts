/**
 * Returns the path to show after signing in: the path that was asked for, or `/`. Anything that a browser could read as
 * another site, such as `//host` or `/\host`, is not a path.
 */
export function returnPath(wanted: string | undefined): string {
  if (wanted === undefined || !wanted.startsWith('/') || /[\\\p{Cc}]/u.test(wanted)) return '/';
  const base = 'http://console.invalid';
  const url = URL.canParse(wanted, base) ? new URL(wanted, base) : null;
  if (url === null || url.origin !== base || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}`;
}
