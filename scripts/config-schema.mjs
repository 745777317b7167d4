// Writes schemas/config.json, the JSON Schema of `usage-ledger.yml`, from the schema that the program reads it with.
// `--check` writes nothing and fails when the file is another.
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { fileSchema } from '../build/config/schema/file-schema.js';
import { keep } from './generated.mjs';

const file = fileURLToPath(new URL('../schemas/config.json', import.meta.url));
/** Any value may come from a variable. */
const VARIABLE = { type: 'string', pattern: '\\$\\{' };

const schema = z.toJSONSchema(fileSchema, {
  io: 'input',
  override({ jsonSchema }) {
    const { description, default: _, type, items, properties, required, additionalProperties, ...limits } = jsonSchema;
    const isLimited = ['integer', 'number', 'boolean'].includes(type) || 'pattern' in limits || 'enum' in limits;
    if (!isLimited) return;
    for (const key of ['type', ...Object.keys(limits)]) delete jsonSchema[key];
    jsonSchema.anyOf = [{ type, ...limits }, VARIABLE];
  },
});
keep(file, `${JSON.stringify({ ...schema, title: 'usage-ledger.yml' }, null, 2)}\n`);
