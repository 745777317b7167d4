import { readFileSync } from 'node:fs';
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';

export const PAYLOAD_SCHEMA = JSON.parse(
  readFileSync(new URL('../../schemas/alert-notification.json', import.meta.url), 'utf8'),
);

let validate: ValidateFunction | null = null;

/**
 * What the published JSON Schema has against the text of a payload; none when it fits. Parsing rounds integers beyond
 * 2^53, but to integers.
 */
export function payloadFaults(payload: string): string[] {
  validate ??= compile();
  if (validate(JSON.parse(payload))) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath || 'payload'} ${message} ${JSON.stringify(params)}`;
  });
}

function compile(): ValidateFunction {
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true, allErrors: true });
  formats.default(ajv);
  return ajv.compile(PAYLOAD_SCHEMA);
}
