import { createHmac } from 'node:crypto';
import { parse } from 'lossless-json';
import { Agent, request } from 'undici';
import type { Sandbox } from '../../src/sandbox/server.ts';
import type { ScenarioInput } from '../../src/sandbox/world/scenario.ts';
import { testClock as clockFrom, type TestClock } from '../support/time/test-clock.ts';

export const KEY = 'ak_test';
export const SECRET = 'sk_test_not_a_secret';
/** 20 February 2026, 12:00 UTC. */
export const NOON = Date.UTC(2026, 1, 20, 12);

export function testClock(startMs = NOON): TestClock {
  return clockFrom(startMs);
}

type WorkspaceInput = ScenarioInput['workspaces'][number];

export function scenarioWith(
  workspace: Partial<WorkspaceInput> = {},
  rest: Partial<ScenarioInput> = {},
): ScenarioInput {
  return { workspaces: [{ id: 'ws-1', api_key_id: KEY, secret_key: SECRET, ...workspace }], ...rest };
}

export function sign(text: string, encoding: 'hex' | 'base64' | 'base64url' = 'hex', secret = SECRET): string {
  return createHmac('sha256', secret).update(text).digest(encoding);
}

/** Headers that the service accepts at the test clock's start. */
export function signedHeaders(overrides: Record<string, string> = {}, workspaceId = 'ws-1'): Record<string, string> {
  const validUntil = String(NOON / 1_000 + 300);
  return {
    'X-API-Key-ID': KEY,
    'X-Workspace-ID': workspaceId,
    'X-Valid-Until': validUntil,
    'X-Signature': sign(`${workspaceId}${validUntil}`),
    ...overrides,
  };
}

export interface Item {
  tenant_id: string;
  period: string;
  period_start: string;
  period_end: string;
  credits_used: number | bigint;
  request_count: number | bigint;
}

export interface Answer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  text: string;
  body: { message: string; success: boolean; data: Record<string, unknown> | null };
  usage: Item[];
}

/** Uses one connection per request, so that a fault that destroys a socket affects no other test. */
const agent = new Agent({ pipelining: 0 });

export async function call(
  sandbox: Sandbox,
  path: string,
  options: { method?: 'GET' | 'POST' | 'DELETE'; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const { method = 'GET', headers = signedHeaders(), body } = options;
  const response = await request(`${sandbox.url}${path}`, { method, headers, body: body ?? null, dispatcher: agent });
  const text = await response.body.text();
  const envelope = parse(text, undefined, (digits) =>
    Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits),
  ) as Answer['body'];
  const usage = (envelope.data?.usage ?? []) as Item[];
  return { status: response.statusCode, headers: response.headers, text, body: envelope, usage };
}

export function usagePath(query = '', tenantId?: string): string {
  const tenant = tenantId === undefined ? '' : `/${encodeURIComponent(tenantId)}`;
  return `/api/v1/external/workspaces/ws-1/tenant-usage${tenant}${query}`;
}
