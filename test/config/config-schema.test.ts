import { readFileSync } from 'node:fs';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { sampleConfig } from '../../src/config/samples.ts';
import { fileSchema } from '../../src/config/schema/file-schema.ts';
import { flag } from '../../src/core/text/setting-kinds.ts';

// cspell:ignore wokers

const ROOT = new URL('../../', import.meta.url);

const validate = new Ajv2020({ strict: false, allErrors: true }).compile(
  JSON.parse(readFileSync(new URL('schemas/config.json', ROOT), 'utf8')),
);

/** What an editor would underline, by path. */
function underlined(text: string): string[] {
  validate(parse(text));
  return (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`);
}

test('an editor finds nothing in the sample, whose values may be variables', () => {
  expect(underlined(sampleConfig())).toEqual([]);
  const text = `workers: "\${WORKERS}"\nhttp: { port: "\${PORT:-9464}" }\nworkspaces: [{ id: a }]`;
  expect(underlined(text)).toEqual([]);
});

test('a number and a flag may be a variable at every key', () => {
  const bare = z.strictObject({ on: z.boolean() }).transform(({ on }) => on);
  const mixed = z.strictObject({
    count: z.number().default(1),
    list: z.array(flag.optional()),
    group: bare.optional(),
  });
  expect(withoutVariables(mixed, '')).toEqual(['.count', '.group.on']);
  expect(withoutVariables(fileSchema, '')).toEqual([]);
});

test.each([
  ['a setting that is none', 'wokers: 3\nworkspaces: [{ id: a }]'],
  ['a number out of its bounds', 'workers: 0\nworkspaces: [{ id: a }]'],
  ['a word that is none of the choices', 'log_level: loud\nworkspaces: [{ id: a }]'],
  ['a setting that is missing', 'workers: 3'],
  ['a channel with a setting of another one', 'workspaces: [{ id: a }]\nalerts: { channels: [{ type: log, url: x }] }'],
])('an editor underlines %s', (_, text) => {
  expect(underlined(text)).not.toEqual([]);
});

/** The settings that take no text for a number or a flag. */
function withoutVariables(schema: unknown, path: string): string[] {
  if (schema instanceof z.ZodNumber || schema instanceof z.ZodBoolean) return [path];
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodPrefault) {
    return withoutVariables(schema.unwrap(), path);
  }
  if (schema instanceof z.ZodPipe) return withoutVariables(schema.in, path);
  if (schema instanceof z.ZodArray) return withoutVariables(schema.element, `${path}[]`);
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((option) => withoutVariables(option, path));
  if (!(schema instanceof z.ZodObject)) return [];
  return Object.entries(schema.shape).flatMap(([key, inner]) => withoutVariables(inner, `${path}.${key}`));
}
