// Writes schemas/config.json, the JSON Schema of `usage-ledger.yml`, from the schema that the program reads it with.
// `--check` writes nothing and fails when the file is another.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { fileSchema } from '../build/config/schema/file-schema.js';

const file = fileURLToPath(new URL('../schemas/config.json', import.meta.url));
/** Any value may come from a variable. */
const VARIABLE = { type: 'string', pattern: '\\$\\{' };

const schema = z.toJSONSchema(fileSchema, {
  io: 'output',
  override({ jsonSchema }) {
    const { description, type, items, properties, required, additionalProperties, ...limits } = jsonSchema;
    const isLimited = ['integer', 'number', 'boolean'].includes(type) || 'pattern' in limits || 'enum' in limits;
    if (!isLimited) return;
    for (const key of ['type', ...Object.keys(limits)]) delete jsonSchema[key];
    jsonSchema.anyOf = [{ type, ...limits }, VARIABLE];
  },
});
const text = `${JSON.stringify({ ...schema, title: 'usage-ledger.yml' }, null, 2)}\n`;
if (parseArgs({ options: { check: { type: 'boolean' } } }).values.check) {
  if (readFileSync(file, 'utf8') !== text) {
    process.stderr.write('schemas/config.json is not that of the program: run `npm run docs`\n');
    process.exitCode = 1;
  }
} else {
  writeFileSync(file, text);
}
