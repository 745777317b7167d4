import { Validator } from '@seriousme/openapi-schema-validator';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, it } from 'vitest';
import { OPERATIONS } from '../../../src/operations/operations.ts';
import { copiesOf } from '../../commands/world.ts';
import { inputOf, ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
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

it('answers every operation as its description says', async () => {
  const world = await worldOfOperations();
  const { ask } = await serveApi(world);
  const description = JSON.parse((await ask('/openapi.json')).text);
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(description, 'api');
  for (const { name, http } of OPERATIONS.filter((operation) => operation.http.method === 'GET')) {
    const path = http.path.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
    const place = `api#/paths/${path}/get/responses/200/content/application~1json/schema`;
    const validate = ajv.getSchema(place);
    expect(validate, name).toBeDefined();
    // A double is near enough for the types: that every digit is there is tested elsewhere.
    validate?.(JSON.parse((await ask(...requestOf({ http }, inputOf(name, world)))).text));
    expect([name, validate?.errors ?? null]).toEqual([name, null]);
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
