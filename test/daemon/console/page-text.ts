/** Returns the text of each cell of the table rows that begin with a name. */
export function rowsOf(body: string, name: string): string[][] {
  return [...body.matchAll(/<tr>(.*?)<\/tr>/gs)]
    .map(([, cells = '']) => [...cells.matchAll(/<t[dh][^>]*>(.*?)<\/t[dh]>/gs)].map(([, cell = '']) => textOf(cell)))
    .filter(([first]) => first?.startsWith(name));
}

/** Returns what a person reads. */
export function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ')
    .trim();
}
