// Writes schemas/answers.json, the JSON Schemas of what commands answer with `--json`, from the columns of their listings.
// `--check` writes nothing and fails when the file is another.
import { fileURLToPath } from 'node:url';
import { ANSWERS } from '../build/commands/answers/answers.js';
import { keep } from './generated.mjs';

const document = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  title: 'The answers of usage-ledger to --json, by command',
  $defs: ANSWERS,
};
keep(fileURLToPath(new URL('../schemas/answers.json', import.meta.url)), `${JSON.stringify(document, null, 2)}\n`);
