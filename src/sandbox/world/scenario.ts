import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { ConfigError, messageOf } from '../../core/errors.ts';
import { PERIOD_FORM } from '../../core/period.ts';
import { formatPath } from '../../core/text/path.ts';

const text = z.string().min(1);
/** Beyond 2^53 as a bigint, which no file has. */
const count = z.union([z.int().min(0), z.bigint()]);
const recordSchema = z.strictObject({
  tenant_id: text,
  period: z.string().regex(PERIOD_FORM),
  credits_used: count,
  request_count: count,
});

/** Records made from a seed, `months` of them ending with the month in which the stand-in starts; later ones join as they begin. */
const generateSchema = z.strictObject({
  seed: z.int().min(0).default(1),
  tenants: z.int().min(1).max(1_000_000),
  months: z.int().min(1).max(120).default(6),
  /** `by_clock` fills the current month as it passes; `at_start` leaves it as it was at the start; `full` shows it as if it were over. */
  open_month: z.enum(['by_clock', 'at_start', 'full']).default('by_clock'),
});

const workspaceSchema = z.strictObject({
  id: text,
  name: text.optional(),
  api_key_id: text,
  secret_key: text,
  /** By period, then tenant; `shuffled` as the seed says; by `credits`, the highest first, so that records change places. */
  order: z.enum(['by_period', 'shuffled', 'credits']).default('by_period'),
  /** One of these replaces the generated record of the same tenant and period. */
  usage: z.array(recordSchema).default([]),
  generate: generateSchema.optional(),
});

/** How requests must be signed, with the names and defaults of a workspace in `usage-ledger.yml`. */
const signingSchema = z.strictObject({
  payload: text.default('{workspace_id}{valid_until}'),
  encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
  valid_until: z.enum(['unix_seconds', 'unix_millis', 'iso8601']).default('unix_seconds'),
  valid_for_seconds: z.int().min(1).max(86_400).default(300),
});

const scenarioSchema = z.strictObject({
  workspaces: z.array(workspaceSchema).min(1),
  signing: signingSchema.prefault({}),
});

export type Scenario = z.output<typeof scenarioSchema>;
/** As a person writes it: whatever has a default may be left out. */
export type ScenarioInput = z.input<typeof scenarioSchema>;
export type ScenarioWorkspace = Scenario['workspaces'][number];
export type ScenarioSigning = Scenario['signing'];
export type GenerateOptions = z.output<typeof generateSchema>;

/** What `usage-ledger sandbox` serves without a file: one workspace with 50 tenants over six months. */
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

const HINT = 'docs/service.md shows a whole scenario';

/** Reads a scenario file, YAML or JSON. Throws ConfigError with every mistake; none repeats a value. */
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

/** Fills in the defaults. Throws as `loadScenario` does. */
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

/** What a signed text can be made of, by the names that a scenario's template has for it in braces. */
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

/** The text that a request has to be signed by. Values are put in once: what stands in them is never a placeholder. */
export function signedText(template: string, values: SignedValues): string {
  return template.replace(/\{([\w -]*)\}|\\(.)/g, (_, name: string | undefined, escaped: string | undefined) => {
    if (escaped !== undefined) return LINE_BREAKS[escaped] ?? '';
    if (name === 'body_sha256') return createHash('sha256').update(values.body).digest('hex');
    return String(values[name as Exclude<keyof SignedValues, 'body'>]);
  });
}
