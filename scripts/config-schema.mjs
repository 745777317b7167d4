// Writes schemas/config.json, the JSON Schema of `usage-ledger.yml`, from the schema that the program reads it with, and
// schemas/month-end.json, that of what `month-end --json` says. `--check` writes nothing and fails when a file is another.
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { SECRET_SOURCE_REMEDIES, SECRETS } from '../src/config/reading/secret-sources.ts';
import { fileSchema } from '../src/config/schema/file-schema.ts';
import { monthEndSchema } from '../src/reports/queries/month-end-record.ts';
import { keep } from './generated.mjs';

const fileOf = (name) => fileURLToPath(new URL(`../schemas/${name}.json`, import.meta.url));
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
const textOf = (content) => `${JSON.stringify(content, null, 2)}\n`;
keep(fileOf('config'), textOf({ ...schema, title: 'usage-ledger.yml' }));

const monthEnd = z.toJSONSchema(monthEndSchema, {
  unrepresentable: 'any',
  override({ zodSchema, jsonSchema }) {
    if (zodSchema._zod.def.type === 'bigint') jsonSchema.type = 'integer';
  },
});
keep(fileOf('month-end'), textOf({ ...monthEnd, title: 'usage-ledger month-end --json' }));

/** Any secret may come from a file or a command, and is not required then. */
function addSources(group) {
  for (const name of SECRETS.filter((name) => name in group.properties)) {
    group.properties[`${name}_file`] ??= { type: 'string', description: SECRET_SOURCE_REMEDIES.file };
    const command = { type: 'array', items: { type: 'string' }, description: SECRET_SOURCE_REMEDIES.command };
    group.properties[`${name}_command`] = command;
    group.required = group.required?.filter((required) => required !== name);
    if (group.required?.length === 0) delete group.required;
  }
}
