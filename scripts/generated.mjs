// What a script generates and git keeps: it is written, or with `--check` only compared.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

/** Writes the file; with `--check` writes nothing, and says that it is another one and fails. */
export function keep(file, wanted) {
  const { values } = parseArgs({ options: { check: { type: 'boolean' } }, strict: false });
  if (existsSync(file) && readFileSync(file, 'utf8') === wanted) return;
  if (values.check !== true) {
    writeFileSync(file, wanted);
    return;
  }
  process.stderr.write(`${file} is not what the program says: run \`npm run docs\`\n`);
  process.exitCode = 1;
}

/** The text with what lies between its two markers replaced. */
export function between(text, begin, end, inside) {
  const from = text.indexOf(begin);
  const to = text.indexOf(end);
  if (from < 0 || to < from) throw new Error(`no place for what is generated: ${begin} and ${end}`);
  return `${text.slice(0, from + begin.length)}\n\n${inside}\n${text.slice(to)}`;
}
