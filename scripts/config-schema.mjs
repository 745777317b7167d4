// Writes schemas/config.json, the JSON Schema of `usage-ledger.yml`, from the schema that the program reads it with.
// `--check` writes nothing and fails when the file is another.
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { SECRETS, SOURCES } from '../build/config/reading/secret-sources.js';
import { fileSchema } from '../build/config/schema/file-schema.js';
import { keep } from './generated.mjs';

const file = fileURLToPath(new URL('../schemas/config.json', import.meta.url));
/** Any value may come from a variable. */
const VARIABLE = { type: 'string', pattern: '\\$\\{' };

const schema = z.toJSONSchema(fileSchema, {
  io: 'input',
  override({ jsonSchema }) {
    if (jsonSchema.type === 'object') addSources(jsonSchema);
    const { description, default: _, type, items, properties, required, additionalProperties, ...limits } = jsonSchema;
    const isLimited = ['integer', 'number', 'boolean'].includes(type) || 'pattern' in limits || 'enum' in limits;
    if (!isLimited) return;
    for (const key of ['type', ...Object.keys(limits)]) delete jsonSchema[key];
    jsonSchema.anyOf = [{ type, ...limits }, VARIABLE];
  },
});
keep(file, `${JSON.stringify({ ...schema, title: 'usage-ledger.yml' }, null, 2)}\n`);

/** Any secret may come from a file or a command, and is not required then. */
function addSources(group) {
  for (const name of SECRETS.filter((name) => name in group.properties)) {
    group.properties[`${name}_file`] ??= { type: 'string', description: SOURCES.file };
    const command = { type: 'array', items: { type: 'string' }, description: SOURCES.command };
    group.properties[`${name}_command`] = command;
    group.required = group.required?.filter((required) => required !== name);
    if (group.required?.length === 0) delete group.required;
  }
}
