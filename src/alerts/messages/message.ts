/** The words of a message: a title that stands alone, and at most three lines. They contain no markup. */
export interface MessageText {
  /** Who, what, how much; without a full stop. */
  title: string;
  /** Figures against the limit, causes, cost; each a line of whole sentences. */
  lines: string[];
}

/** Joins a title and its lines to one text. */
export function inOneText({ title, lines }: MessageText): string {
  return [`${title}.`, ...lines].join(' ');
}

/** Drops empty sentences and empty lines. */
export function linesOf(...lines: readonly (readonly string[])[]): string[] {
  return lines.map((sentences) => sentences.filter((each) => each !== '').join(' ')).filter((line) => line !== '');
}
