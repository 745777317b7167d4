/**
 * Returns the path to show after signing in: the requested path, or `/` if that is not a path of this site. A text that
 * a browser could read as another site, such as `//host` or `/\host`, is not accepted.
 */
export function returnPath(wanted: string | undefined): string {
  if (wanted === undefined || !wanted.startsWith('/') || /[\\\p{Cc}]/u.test(wanted)) return '/';
  const base = 'http://console.invalid';
  const url = URL.canParse(wanted, base) ? new URL(wanted, base) : null;
  if (url === null || url.origin !== base || url.pathname.startsWith('//')) return '/';
  return `${url.pathname}${url.search}`;
}
