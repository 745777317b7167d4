import { createHash } from 'node:crypto';
import type { Period } from '../../core/period.ts';

/** How requests must be signed, with the names and defaults of a workspace in `usage-ledger.yml`. */
export interface ScenarioSigning {
  payload: string;
  encoding: 'hex' | 'base64' | 'base64url';
  valid_until: 'unix_seconds' | 'unix_millis' | 'iso8601';
  valid_for_seconds: number;
}

export const SCENARIO_SIGNING: ScenarioSigning = {
  payload: '{workspace_id}{valid_until}',
  encoding: 'hex',
  valid_until: 'unix_seconds',
  valid_for_seconds: 300,
};

/** A number must be a safe integer; beyond that use bigint. */
interface ScenarioRecord {
  tenant_id: string;
  period: Period;
  credits_used: number | bigint;
  request_count: number | bigint;
}

/** Records made from a seed, `months` of them ending with the month in which the stand-in starts; later ones join as they begin. */
export interface GenerateOptions {
  seed?: number;
  tenants: number;
  /** 6 when absent. */
  months?: number;
  /** `by_clock` fills the current month as it passes; `at_start` leaves it as it was at the start; `full` shows it as if it were over. */
  open_month?: 'by_clock' | 'at_start' | 'full';
}

export interface ScenarioWorkspace {
  id: string;
  name?: string;
  api_key_id: string;
  secret_key: string;
  /** By period, then tenant, unless told; `shuffled` as the seed says; by `credits`, the highest first, so that records change places. */
  order?: 'by_period' | 'shuffled' | 'credits';
  /** One of these replaces the generated record of the same tenant and period. */
  usage?: readonly ScenarioRecord[];
  generate?: GenerateOptions;
}

/** What the stand-in serves. */
export interface Scenario {
  workspaces: readonly ScenarioWorkspace[];
  signing?: Partial<ScenarioSigning>;
}

/** What `usage-ledger sandbox` serves: one workspace with 50 tenants over six months. */
export const defaultScenario: Scenario = {
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
