import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { buildNotification } from '../../src/alerts/notification.ts';
import { RULES } from '../../src/alerts/rules/rule.ts';
import { jumpFacts } from './sample.ts';

interface ObjectSchema {
  required: string[];
  properties: Record<string, { enum?: string[] }>;
}

const schema = JSON.parse(
  readFileSync(new URL('../../schemas/alert-notification.json', import.meta.url), 'utf8'),
) as ObjectSchema & { $defs: { evidence: ObjectSchema } };

test('the JSON Schema names every field of a notification, and no other', () => {
  const notification = buildNotification(jumpFacts());
  for (const [described, value] of [
    [schema, notification],
    [schema.$defs.evidence, notification.evidence],
  ] as const) {
    const fields = Object.keys(value).sort();
    expect(Object.keys(described.properties).sort()).toEqual(fields);
    expect([...described.required].sort()).toEqual(fields);
  }
});

test('the JSON Schema names every rule', () => {
  expect(schema.properties.rule?.enum).toEqual([...RULES]);
});
