import { createHash } from 'node:crypto';
import { z } from 'zod';
import { LARGEST_FIGURE } from '../../core/figure.ts';
import { isPeriod } from '../../core/period.ts';

const MAXIMUM_SIGNATURE_LIFE_SECONDS = 86_400;

/** Credits or requests: exact, so a number only while it is a safe integer, else a bigint up to 2^63-1. */
const count = z.custom<number | bigint>(
  (value) =>
    (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) ||
    (typeof value === 'bigint' && value >= 0n && value <= LARGEST_FIGURE),
  'is not an integer from 0 to 9223372036854775807',
);
const period = z.string().refine(isPeriod, 'is not a month');
const instant = z.iso.datetime({ offset: true, error: 'is not a time' });
const text = z.string().min(1, 'is empty');

const usageRow = z.strictObject({ tenant_id: text, period, credits_used: count, request_count: count });

const jump = z.strictObject({
  tenant: z.union([z.int().min(0), text], 'is neither an index nor a tenant id'),
  period: z.union([z.literal('current'), period], "is neither a month nor 'current'").default('current'),
  factor: z.number().min(0).max(1_000_000),
  requests_factor: z.number().min(0).max(1_000_000).default(1),
  after: instant.optional(),
  after_seconds: z.number().min(0).optional(),
});

const generate = z.strictObject({
  seed: z.int().min(0).max(0xffff_ffff).default(1),
  tenants: z.int().min(1).max(1_000_000),
  months: z.int().min(1).max(120).default(6),
  base_credits: z.int().min(0).max(1_000_000_000_000).default(20_000),
  monthly_growth: z.number().min(-0.9).max(10).default(0.03),
  spread: z.number().min(0).max(1_000).default(3),
  variation: z.number().min(0).max(0.9).default(0.05),
  open_month: z.enum(['full', 'by_clock']).default('by_clock'),
  jumps: z.array(jump).default([]),
});

const workspace = z.strictObject({
  id: text,
  name: text.optional(),
  api_key_id: text,
  secret_key: text,
  order: z.enum(['by_period', 'shuffled', 'credits']).default('by_period'),
  usage: z.array(usageRow).default([]),
  generate: generate.optional(),
});

const signing = z.strictObject({
  payload: z
    .string()
    .superRefine((template, context) => {
      const mistake = templateMistake(template);
      if (mistake !== null) context.addIssue({ code: 'custom', message: mistake });
    })
    .default('{workspace_id}{valid_until}'),
  encoding: z.enum(['hex', 'base64', 'base64url']).default('hex'),
  valid_until: z.enum(['unix_seconds', 'unix_millis', 'iso8601']).default('unix_seconds'),
  valid_for_seconds: z.int().min(1).max(MAXIMUM_SIGNATURE_LIFE_SECONDS).default(300),
});

const time = z.strictObject({ start: instant.optional(), speed: z.number().min(0).max(10_000_000).default(1) });

/** The shape of a scenario file; every key is described in {@link Scenario}. */
export const scenarioSchema = z.strictObject({
  workspaces: z.array(workspace).min(1, 'is empty'),
  signing: signing.prefault({}),
  time: time.prefault({}),
  latency_ms: z.int().min(0).max(600_000).default(0),
});

/**
 * What the stand-in serves, with all defaults filled in.
 *
 * - `workspaces[].usage`: explicit records; one of them replaces the generated record of the same tenant and period.
 * - `workspaces[].generate`: records made from `seed`, `months` of them ending with the month in which the stand-in
 *   starts (later months join as they begin). A tenant's level lies between `base_credits / (1 + spread)` and
 *   `base_credits * (1 + spread)`, grows by `monthly_growth` (0.03 is 3 %) and varies by `variation` from month to
 *   month. `open_month: by_clock` fills the current month as it passes; `full` shows it as if it were over.
 * - `jumps[]`: multiplies one tenant's credits in one period, from `after` (an instant of the usage clock) or
 *   `after_seconds` after the start, else from the beginning. `tenant` is an index from 0 or an id.
 * - `order`: `by_period` (period, then tenant), `shuffled`, in an order that the seed decides, or `credits`, the highest
 *   first, so that records change places as their values change.
 * - `time`: the clock of the *usage*, `start` at the beginning and `speed` times as fast as the real one. Signatures,
 *   the Date header and embed tokens keep to the real clock.
 * - `signing`: how requests must be signed, with the names and defaults of a workspace in `usage-ledger.yml`.
 */
export type Scenario = z.output<typeof scenarioSchema>;
/** A scenario as a person writes it: whatever has a default may be left out. */
export type ScenarioInput = z.input<typeof scenarioSchema>;
export type ScenarioWorkspace = Scenario['workspaces'][number];
export type GenerateOptions = z.output<typeof generate>;
export type ScenarioSigning = Scenario['signing'];

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

const NAMES = ['workspace_id', 'valid_until', 'api_key_id', 'method', 'path', 'query', 'body_sha256'];
const LINE_BREAKS: Record<string, string> = { n: '\n', r: '\r', t: '\t', '\\': '\\' };

/** What is wrong with a template; null when it can be used. */
function templateMistake(template: string): string | null {
  if (/(?:^|[^\\])(?:\\\\)*\\(?![nrt\\])/.test(template)) return 'has an unknown escape';
  const names = [...template.matchAll(/\{([\w -]*)\}/g)].map(([, name = '']) => name);
  const unknown = names.find((name) => !NAMES.includes(name));
  if (unknown !== undefined) return `has the unknown placeholder {${unknown}}`;
  return names.includes('valid_until') ? null : 'does not contain {valid_until}';
}

/** The text that a request has to be signed by. Values are put in once: what stands in them is never a placeholder. */
export function signedText(template: string, values: SignedValues): string {
  return template.replace(/\{([\w -]*)\}|\\(.)/g, (_, name: string | undefined, escaped: string | undefined) => {
    if (escaped !== undefined) return LINE_BREAKS[escaped] ?? '';
    if (name === 'body_sha256') return createHash('sha256').update(values.body).digest('hex');
    return String(values[name as Exclude<keyof SignedValues, 'body'>]);
  });
}
