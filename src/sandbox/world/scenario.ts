import { readFileSync } from 'node:fs';
import { parseDocument } from 'yaml';
import type { z } from 'zod';
import { ConfigError, type ConfigFault, messageOf } from '../../core/errors.ts';
import { formatPath } from '../../core/text/path.ts';
import { tenantName } from './generate.ts';
import { type Scenario, type ScenarioInput, scenarioSchema } from './scenario-schema.ts';

/** What `usage-ledger sandbox` serves without a file: one workspace with 50 tenants over six months. */
export const defaultScenario: ScenarioInput = {
  workspaces: [
    {
      id: 'ws-sandbox',
      name: 'Sandbox',
      api_key_id: 'ak_sandbox',
      secret_key: 'sk_sandbox_not_a_secret',
      generate: { seed: 7, tenants: 50, months: 6 },
    },
  ],
};

/** How to write each setting; shown beside whatever is wrong with it. */
const REMEDIES: Record<string, string> = {
  workspaces: 'list at least one workspace with id, api_key_id and secret_key',
  id: 'give the workspace an id, such as ws-sandbox, that no other workspace has',
  api_key_id: 'give the workspace a key id, such as ak_sandbox, that no other workspace has',
  secret_key: 'give a made-up secret, such as sk_sandbox_not_a_secret; never a real one',
  order: 'write by_period, shuffled or credits',
  usage: 'list records with tenant_id, period, credits_used and request_count',
  tenant_id: 'write the tenant id as text, in quotes when it looks like a number',
  period: "write it as YYYY-MM with a month from 01 to 12, such as 2026-02; a jump may say 'current'",
  credits_used: 'write a whole number from 0 to 9223372036854775807',
  request_count: 'write a whole number from 0 to 9223372036854775807',
  generate: 'give at least tenants, such as `generate: {tenants: 50}`',
  seed: 'write a whole number from 0 to 4294967295',
  tenants: 'write a whole number from 1 to 1000000',
  months: 'write a whole number from 1 to 120',
  base_credits: 'write a whole number from 0 to 1000000000000',
  monthly_growth: 'write a fraction from -0.9 to 10; 0.03 is 3 %',
  spread: 'write a number from 0 (all tenants alike) to 1000',
  variation: 'write a fraction from 0 to 0.9; 0.05 is 5 %',
  open_month: 'write full or by_clock',
  jumps: 'list jumps with tenant, period and factor',
  tenant: 'write an index from 0 to tenants - 1, or the id of a generated tenant',
  factor: 'write a number from 0 to 1000000; 3 makes the credits three times as many',
  requests_factor: 'write a number from 0 to 1000000; 1 leaves the requests as they are',
  after: 'write an ISO time with a zone, such as 2026-02-20T08:00:00Z',
  after_seconds: 'write a number of seconds from 0, and no `after` beside it',
  payload:
    'use {valid_until} and, if wanted, {workspace_id}, {api_key_id}, {method}, {path}, {query} and {body_sha256}',
  encoding: 'write hex, base64 or base64url',
  valid_until: 'write unix_seconds, unix_millis or iso8601',
  valid_for_seconds: 'write a whole number from 1 to 86400',
  start: 'write an ISO time with a zone, such as 2026-02-20T08:00:00Z',
  speed: 'write a number from 0 (time stands still) to 10000000; 1 is real time',
  latency_ms: 'write a whole number of milliseconds from 0 to 600000',
};

/** Reads a scenario file (YAML or JSON). Raises ConfigError with every mistake found. */
export function loadScenario(file: string): Scenario {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const reason = messageOf(error);
    throw new ConfigError(file, [{ path: '(file)', message: reason, hint: 'name a scenario file that can be read' }]);
  }
  return parseScenario(text, file);
}

/** Parses the text of a scenario, YAML or JSON; integers stay exact. `file` is named in the ConfigError. */
export function parseScenario(text: string, file: string): Scenario {
  const document = parseDocument(text, { intAsBigInt: true });
  if (document.errors.length > 0) {
    const faults = document.errors.map((error) => ({
      path: `line ${error.linePos?.[0].line ?? 1}`,
      message: error.message.split('\n', 1)[0] ?? error.code,
      hint: 'correct the YAML there',
    }));
    throw new ConfigError(file, faults);
  }
  return checkScenario(smallIntegersToNumbers(document.toJS()), file);
}

/** Checks a scenario and fills in the defaults. Raises ConfigError with every mistake found. */
export function checkScenario(input: unknown, file = 'the scenario'): Scenario {
  const parsed = scenarioSchema.safeParse(input);
  const faults = [...(parsed.success ? [] : parsed.error.issues.flatMap(faultsOf)), ...relationFaults(input)];
  if (!parsed.success || faults.length > 0) throw new ConfigError(file, faults);
  return parsed.data;
}

function faultsOf(issue: z.core.$ZodIssue): ConfigFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => ({
      path: pathText([...issue.path, key]),
      message: 'is not a known setting',
      hint: 'remove it or correct its spelling',
    }));
  }
  const name = issue.path.findLast((part) => typeof part === 'string') ?? 'workspaces';
  const hint = REMEDIES[String(name)] ?? 'write a mapping of settings';
  return [{ path: pathText(issue.path), message: issue.message, hint }];
}

/** Mistakes between settings. Works on the raw input, so that it reports even while single settings are wrong. */
function relationFaults(input: unknown): ConfigFault[] {
  const faults: ConfigFault[] = [];
  const fault = (name: string, path: PropertyKey[], message: string): void => {
    faults.push({ path: pathText(path), message, hint: REMEDIES[name] ?? '' });
  };
  const keysTaken = { id: new Set<unknown>(), api_key_id: new Set<unknown>() };
  for (const [at, workspace] of records(fieldsOf(input).workspaces)) {
    for (const name of ['id', 'api_key_id'] as const) {
      const value = workspace[name];
      if (value !== undefined && keysTaken[name].has(value)) fault(name, ['workspaces', at, name], 'is taken already');
      keysTaken[name].add(value);
    }
    const rowsTaken = new Set<string>();
    for (const [row, { tenant_id, period }] of records(workspace.usage)) {
      const key = JSON.stringify([tenant_id, period]);
      const path = ['workspaces', at, 'usage', row];
      if (rowsTaken.has(key))
        faults.push({
          path: pathText(path),
          message: 'is a second record of its tenant and period',
          hint: 'keep one of them',
        });
      rowsTaken.add(key);
    }
    const generate = fieldsOf(workspace.generate);
    for (const [row, jump] of records(generate.jumps)) {
      const path = ['workspaces', at, 'generate', 'jumps', row];
      if (!namesGeneratedTenant(jump.tenant, generate.tenants))
        fault('tenant', [...path, 'tenant'], 'is no generated tenant');
      if (jump.after !== undefined && jump.after_seconds !== undefined)
        fault('after_seconds', path, 'has both `after` and `after_seconds`');
    }
  }
  return faults;
}

/** True also when either value is unusable in itself: the schema reports that. */
function namesGeneratedTenant(tenant: unknown, tenants: unknown): boolean {
  if (typeof tenants !== 'number' || !(tenants <= 1_000_000)) return true;
  if (typeof tenant === 'number') return tenant < tenants;
  if (typeof tenant !== 'string') return true;
  for (let index = 0; index < tenants; index += 1) if (tenantName(index) === tenant) return true;
  return false;
}

function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function records(value: unknown): Array<[number, Record<string, unknown>]> {
  return Array.isArray(value) ? value.map((item: unknown, index) => [index, fieldsOf(item)]) : [];
}

function pathText(path: readonly PropertyKey[]): string {
  return formatPath(path) || '(whole file)';
}

/** YAML integers are read as bigint to stay exact; those that a number holds exactly become numbers. */
function smallIntegersToNumbers(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : value;
  if (Array.isArray(value)) return value.map(smallIntegersToNumbers);
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, smallIntegersToNumbers(item)]));
  }
  return value;
}
