import stringWidth from 'string-width';

/** How many terminal columns this text takes: East Asian wide characters and emoji take two. */
export function textWidth(text: string): number {
  return /^[\x20-\x7e]*$/.test(text) ? text.length : stringWidth(text);
}

/** The text, cut off behind `longest` code units with an ellipsis for the rest. Surrogate pairs stay whole. */
export function clipText(text: string, longest: number): string {
  if (text.length <= longest) return text;
  return `${text.slice(0, longest).replace(/[\ud800-\udbff]$/, '')}…`;
}

/** The text in at most `width` terminal columns, the last one an ellipsis when there was more. */
export function clipToWidth(text: string, width: number): string {
  if (textWidth(text) <= width) return text;
  const [line = ''] = wrapText(text.replaceAll(' ', '\u00a0'), Math.max(1, width - 1));
  return `${line.replaceAll('\u00a0', ' ').trimEnd()}…`;
}

/**
 * Cuts text into lines of at most `width` terminal columns, at spaces where there are any. What the reader sees as one
 * character stays whole, and nothing is dropped but the spaces at which a line was cut.
 */
export function wrapText(text: string, width: number): string[] {
  if (textWidth(text) <= width) return [text];
  const lines: string[] = [];
  let line = '';
  let lineWidth = 0;
  for (const { segment } of new Intl.Segmenter('en').segment(text)) {
    const segmentWidth = textWidth(segment);
    while (lineWidth + segmentWidth > width && line !== '') {
      const space = segment === ' ' ? line.length : line.lastIndexOf(' ');
      const cut = space > 0 ? space : line.length;
      lines.push(line.slice(0, cut));
      line = line.slice(cut).trimStart();
      lineWidth = textWidth(line);
    }
    if (segment === ' ' && line === '' && lines.length > 0) continue;
    line += segment;
    lineWidth += segmentWidth;
  }
  if (line !== '') lines.push(line);
  return lines;
}
