import { wrapText } from '../../reports/formats/table.ts';
import type { CliContext } from './cli-context.ts';

/** A sentence as lines of the terminal, those after the first set in; one line where nobody looks. */
export function proseLines(text: string, width: number | undefined, indent = 0): string[] {
  if (width === undefined) return [text];
  const lead = /^ */.exec(text)?.[0].length ?? 0;
  const [first = '', ...rest] = wrapText(text.slice(lead), Math.max(20, width - lead - indent));
  return [' '.repeat(lead) + first, ...rest.map((line) => ' '.repeat(lead + indent) + line)];
}

export function printProse(cli: CliContext, text: string, indent = 0): void {
  for (const line of proseLines(text, cli.tableOptions.width, indent)) cli.print(line);
}
