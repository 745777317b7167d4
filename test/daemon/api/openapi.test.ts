import { Validator } from '@seriousme/openapi-schema-validator';
import { expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { copiesOf } from '../../commands/world.ts';
import { inputOf, ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { answerChecker } from './described-answer.ts';
import { requestOf, serveApi } from './served-api.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);

it('describes itself as OpenAPI 3.1, by the schema of the specification', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const { status, text } = await ask('/openapi.json');
  expect(status).toBe(200);
  const result = await new Validator().validate(JSON.parse(text));
  expect(result.errors ?? []).toEqual([]);
  expect(result.valid).toBe(true);
  expect(Object.keys(JSON.parse(text).paths)).toHaveLength(new Set(OPERATIONS.map(({ http }) => http.path)).size);
});

it('answers every read as its description says', async () => {
  const world = await worldOfOperations();
  const { ask } = await serveApi(world);
  const description = JSON.parse((await ask('/openapi.json')).text);
  const faultsOf = answerChecker(description);
  for (const operation of OPERATIONS.filter(({ kind }) => kind !== 'change')) {
    const { text } = await ask(...requestOf(operation, inputOf(operation.name, world)));
    expect([operation.name, faultsOf(operation, text)]).toEqual([operation.name, []]);
  }
});

it('shows a reference that loads nothing, and every path is on it', async () => {
  const { ask } = await serveApi(await worldOfOperations());
  const { status, text, headers } = await ask('');
  expect(status).toBe(200);
  expect(headers['content-security-policy']).toContain("default-src 'none'");
  expect(headers['content-security-policy']).not.toContain('script-src');
  expect(text).not.toMatch(/<script|src=|<link|@import|url\(/);
  for (const { http } of OPERATIONS) expect(text).toContain(`${http.method} ${http.path}`);
});
