import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { loadConfig } from '../../src/config/load.ts';
import { createLogger } from '../../src/core/logger.ts';
import { ALL_ROWS, type Operation, type Scope } from '../../src/operations/operation.ts';
import { OPERATIONS } from '../../src/operations/operations.ts';
import { renderJson } from '../../src/reports/formats/json.ts';
import { Context } from '../../src/wiring/context.ts';
import { copiesOf, parseJson, type World } from '../commands/world.ts';
import { clockThat } from '../support/time/test-clock.ts';
import { commandLineOf, inputOf, ledgerOfOperations } from './ledger-of-operations.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);

describe('every operation', () => {
  it.each(OPERATIONS.filter(({ role }) => role === 'read').map((operation) => [operation.name, operation] as const))(
    '%s, which reads, gives the document that its command prints, and its schema describes it',
    async (name, operation) => {
      const world = await worldOfOperations();
      const input = inputOf(name, world);
      const document = await runOperation(world, operation, input);
      expect(schemaOf(operation).safeParse(document).error?.issues ?? []).toEqual([]);
      if (operation.command === null) return;
      const { out, err } = await world.run(...commandLineOf(name, operation.command, input));
      expect(err, out).not.toContain('error:');
      expect(parseJson(renderJson(document))).toEqual(parseJson(out));
    },
    20_000,
  );

  it('has a name of its own, a path of its own, a sentence, and a description of each field', () => {
    const names = OPERATIONS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    const routes = OPERATIONS.map(({ http }) => `${http.method} ${http.path}`);
    expect(new Set(routes).size).toBe(routes.length);
    for (const { name, summary, input, http } of OPERATIONS) {
      expect(name).toMatch(/^[a-z]+\.[a-z_]+$/);
      expect(summary, name).toMatch(/^[A-Z].*[^.]$/);
      for (const [field, schema] of Object.entries(input.shape)) {
        expect(z.globalRegistry.get(schema as z.ZodType)?.description, `${name} ${field}`).toBeTruthy();
      }
      for (const [, field = ''] of http.path.matchAll(/\{(\w+)\}/g)) expect(Object.keys(input.shape)).toContain(field);
      expect(input.safeParse({ no_such_field: 1 }).success, `${name} refuses unknown fields`).toBe(false);
    }
  });
});

async function runOperation(world: World, operation: Operation, input: Record<string, unknown>): Promise<object> {
  const config = loadConfig({ file: undefined, env: {}, cwd: world.folder });
  const context = new Context(await config, {
    clock: clockThat(() => world.clock.nowMs),
    logger: createLogger({ level: 'silent' }),
  });
  try {
    const scope: Scope = {
      context,
      connection: context.reader().connection,
      actor: { name: 'test', kind: 'stated' },
      signal: new AbortController().signal,
    };
    const parsed = operation.input.parse(input);
    if (operation.kind === 'document') return await operation.run(scope, parsed);
    if (operation.kind === 'change') return (await operation.run(scope, parsed)).document;
    const { head, rows, tail = {} } = operation.run(scope, parsed, ALL_ROWS);
    return { ...head, [operation.member]: [...rows], ...tail };
  } finally {
    await context.close();
  }
}

function schemaOf(operation: Operation): z.ZodType {
  if (operation.kind !== 'list') return operation.output;
  const list = z.object({ [operation.member]: z.array(operation.row) });
  return z.intersection(z.intersection(loose(operation.head), list), loose(operation.tail ?? z.object({})));
}

function loose(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodObject ? z.looseObject(schema.shape) : schema;
}
