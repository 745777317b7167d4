import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { ConfigError, messageOf } from '../../core/errors.ts';
import { PERIOD_FORM } from '../../core/period.ts';
import { formatPath } from '../../core/text/path.ts';

const requiredText = z.string().min(1);
/** An integer. Tests may pass a bigint above 2^53; files cannot contain one. */
const countSchema = z.union([z.int().min(0), z.bigint()]);
const recordSchema = z.strictObject({
  tenant_id: requiredText,
  period: z.string().regex(PERIOD_FORM),
  credits_used: countSchema,
  request_count: countSchema,
});

/**
 * Settings for records that are generated from a seed. They cover `months` months, of which the last is that in which
 * the sandbox starts. A later month is added when it begins.
 */
const generateSchema = z.strictObject({
  seed: z.int().min(0).default(1),
  tenants: z.int().min(1).max(1_000_000),
  months: z.int().min(1).max(120).default(6),
  /**
   * Usage of the current month. `by_clock` grows with time; `at_start` stays as it was at the start; `full` is a
   * complete month.
   */
  open_month: z.enum(['by_clock', 'at_start', 'full']).default('by_clock'),
});

const scenarioWorkspaceSchema = z.strictObject({
  id: requiredText,
  name: requiredText.optional(),
  api_key_id: requiredText,
  secret_key: requiredText,
  /**
   * The order of the listing. `by_period`: by period, then by tenant. `shuffled`: random, from the seed. `credits`:
   * highest first, so that a record changes its place when its credits change.
   */
  order: z.enum(['by_period', 'shuffled', 'credits']).default('by_period'),
  /** Explicit records. They replace generated records of the same tenant and period. */
  usage: z.array(recordSchema).default([]),
  generate: generateSchema.optional(),
});

/** The settings of the signing scheme. Names and defaults are those of a workspace in `usage-ledger.yml`. */
const signingSchema = z.strictObject({
  payload: requiredText.default('{workspace_id}{valid_until}'),
  encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
  valid_until: z.enum(['unix_seconds', 'unix_millis', 'iso8601']).default('unix_seconds'),
  valid_for_seconds: z.int().min(1).max(86_400).default(300),
});

const scenarioSchema = z.strictObject({
  workspaces: z.array(scenarioWorkspaceSchema).min(1),
  signing: signingSchema.prefault({}),
});

export type Scenario = z.output<typeof scenarioSchema>;
/** A scenario as it is written in a file, where settings with defaults may be missing. */
export type ScenarioInput = z.input<typeof scenarioSchema>;
export type ScenarioWorkspace = Scenario['workspaces'][number];
export type ScenarioSigning = Scenario['signing'];
export type GenerateOptions = z.output<typeof generateSchema>;

/** The scenario that `usage-ledger sandbox` serves without a file: one workspace with 50 tenants over six months. */
export const defaultScenario: ScenarioInput = {
  workspaces: [
    {
      id: 'ws-sandbox',
      name: 'Sandbox',
      api_key_id: 'ak_sandbox',
      secret_key: 'sk_sandbox_not_a_secret',
      generate: { seed: 7, tenants: 50 },
    },
  ],
};

const HINT = 'see docs/service.md for a complete scenario';

/**
 * Reads a scenario file, YAML or JSON. Throws ConfigError, which lists all mistakes but repeats no values, because
 * these may be secrets.
 */
export function loadScenario(file: string): Scenario {
  let input: unknown;
  try {
    input = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const [message = ''] = messageOf(error).split('\n', 1);
    throw new ConfigError(file, [{ path: '(whole file)', message, hint: HINT }]);
  }
  return checkScenario(input, file);
}

/** Validates a scenario and fills in the defaults. Throws ConfigError, which lists all mistakes. */
export function checkScenario(input: unknown, file = 'the scenario'): Scenario {
  const { data, error } = scenarioSchema.safeParse(input);
  if (data !== undefined) return data;
  const faults = error.issues.map(({ path, message }) => ({
    path: formatPath(path) || '(whole file)',
    message,
    hint: HINT,
  }));
  throw new ConfigError(file, faults);
}

/** The values that a signature may cover, under the names of the placeholders in the scenario's template. */
export interface SignedValues {
  workspace_id: string;
  valid_until: string;
  api_key_id: string;
  method: string;
  path: string;
  query: string;
  body: Buffer;
}

const LINE_BREAKS: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\' };

/**
 * Builds the text that a request must sign by replacing the placeholders. Braces inside a value are left as they are.
 */
export function signedText(template: string, values: SignedValues): string {
  return template.replace(/\{([\w -]*)\}|\\(.)/g, (_, name: string | undefined, escaped: string | undefined) => {
    if (escaped !== undefined) return LINE_BREAKS[escaped] ?? '';
    if (name === 'body_sha256') return createHash('sha256').update(values.body).digest('hex');
    return String(values[name as Exclude<keyof SignedValues, 'body'>]);
  });
}
