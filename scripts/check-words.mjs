// Checks the language of `src`, room by room: comments that open with a pointing word, and names built from verbs of speech. Both
// make a reader translate before reading.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Comments are expected to lead with the thing that acts: "Merges a run ...", "A lease on ...". */
const POINTING_OPENING =
  /^(?:What|Who|Whose|Whom|Of|By|Such|Where|Whether|Null|Absent|From so|In so|So many|To be|Beyond|Behind|Under|Beside|About)\b/;
const MAX_SHARE_OF_OPENINGS = 0.05;
/** Retired stems as a word of a name: write notify, notification, message, due, usage series. */
const RETIRED_STEM =
  /(?:^|[a-z_])(?:told|Told|said|Said|tell|Tell|heard|Heard|owed|Owed|Course|course|News|news)(?=[A-Z_]|$)/;
/** Whole words that only contain a stem. */
const HARMLESS = new Set(['allowed', 'followed', 'swallowed', 'allowedAddresses']);

const src = fileURLToPath(new URL('../src', import.meta.url));
const faults = [];
let rooms = 0;
for (const room of readdirSync(src, { withFileTypes: true }).filter((entry) => entry.isDirectory())) {
  rooms += 1;
  checkRoom(room.name);
}
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`words: ${rooms} rooms, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

function checkRoom(room) {
  const folder = join(src, room);
  const files = readdirSync(folder, { recursive: true }).filter((file) => /\.tsx?$/.test(file));
  const pointing = [];
  let comments = 0;
  for (const file of files) {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    const found = commentsOf(text);
    comments += found.length;
    pointing.push(
      ...found.filter((comment) => POINTING_OPENING.test(comment)).map((comment) => `${place(path)}: ${comment}`),
    );
    for (const name of new Set(namesOf(text))) {
      if (!RETIRED_STEM.test(name) || HARMLESS.has(name)) continue;
      faults.push(`${place(path)}: ${name} is built from a verb of speech: name the notification, message or amount`);
    }
  }
  if (pointing.length <= comments * MAX_SHARE_OF_OPENINGS) return;
  faults.push(
    `${room}: ${pointing.length} of ${comments} comments open with a pointing word: lead with the thing that acts`,
  );
  faults.push(...pointing.map((line) => `  ${line.slice(0, 140)}`));
}

function place(path) {
  return relative(join(src, '..'), path);
}

/** Returns the text of each comment without its marks. */
function commentsOf(text) {
  return [...text.matchAll(/\/\*\*([\s\S]*?)\*\/|(?<![:'"`])\/\/(.*)/g)]
    .map(([, block, line]) => (block ?? line).replaceAll(/\s*\n\s*\*\s?/g, ' ').trim())
    .filter((comment) => comment !== '' && !/^(?:biome|@ts|\/)/.test(comment));
}

/** Returns the identifiers of the code, without comments and texts. */
function namesOf(text) {
  const code = text.replaceAll(/\/\*[\s\S]*?\*\/|\/\/.*|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`/g, '');
  return code.match(/\b[A-Za-z_]\w*\b/g) ?? [];
}
