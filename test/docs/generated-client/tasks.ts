import createClient from 'openapi-fetch';
import type { components, paths } from './generated/api.ts';

/** The tasks of docs/api.md, written with a client whose types are generated from `/api/openapi.json`. */
const TASKS: Readonly<Record<string, () => Promise<unknown>>> = {
  yesterdaysUsage,
  openAlerts,
  acknowledge,
  closeMonth,
  statements,
  usageOfTenant,
};

const { TASK = '', ADDRESS = '', TOKEN = '', PERIOD = '', WORKSPACE = '', ALERT = '', TENANT = '' } = process.env;
const headers = { authorization: `Bearer ${TOKEN}` };
const client = createClient<paths, `application/${'json' | 'problem+json'}`>({ baseUrl: `${ADDRESS}/api/v1`, headers });
/** The same for answers that are text. */
const texts = createClient<paths, 'text/csv' | 'text/html' | 'application/problem+json'>({
  baseUrl: `${ADDRESS}/api/v1`,
  headers,
});

/** Returns the rows of each day as CSV. */
async function yesterdaysUsage(): Promise<string> {
  const query = { period: PERIOD, format: 'csv' } as const;
  const path = { view: 'daily' } as const;
  return answerOf(await texts.GET('/exports/{view}', { params: { path, query }, parseAs: 'text' }));
}

async function openAlerts() {
  const { alerts } = answerOf(await client.GET('/alerts', { params: { query: { limit: 1000 } } }));
  return alerts.map(({ alert_id, severity, summary }) => `${severity}: ${summary} (${alert_id})`);
}

async function acknowledge() {
  const body = { note: 'load test' };
  const params = { path: { alert_id: ALERT } };
  const answer = answerOf(await client.POST('/alerts/{alert_id}/acknowledge', { params, body }));
  return { applied: answer.applied, state: 'alert' in answer ? answer.alert.state : null };
}

/** Closes the month in every workspace; returns the blockers if there are any. */
async function closeMonth() {
  const params = { path: { period: PERIOD } };
  const plan = answerOf(await client.GET('/periods/{period}', { params }));
  const blockers = plan.workspaces.flatMap(({ workspace_id, blockers }) =>
    blockers.map(({ reason }) => `${workspace_id}: ${reason}`),
  );
  if (!plan.ready) return { blockers };
  const closed = answerOf(await client.POST('/periods/{period}/close-all', { params, body: { note: 'pipeline 42' } }));
  return { applied: closed.applied, results: closed.workspaces.map(({ result }) => result) };
}

/** Returns the page of each customer by its id, read page by page. */
async function statements() {
  const pages: Record<string, string> = {};
  let cursor: string | undefined;
  do {
    const path = { period: PERIOD };
    const query = { workspace: WORKSPACE, proof: false, limit: 1, ...(cursor === undefined ? {} : { cursor }) };
    const list = answerOf(await client.GET('/statements/{period}', { params: { path, query } }));
    for (const { tenant_id } of list.tenants) {
      const params = { path: { ...path, tenant_id }, query: { workspace: WORKSPACE, format: 'html' as const } };
      pages[tenant_id] = answerOf(await texts.GET('/statements/{period}/{tenant_id}', { params, parseAs: 'text' }));
    }
    cursor = list.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return pages;
}

/** The question of the assistant, which itself asks over MCP. */
async function usageOfTenant() {
  const query = { period: PERIOD, tenant: TENANT, workspace: WORKSPACE };
  const { rows } = answerOf(await client.GET('/usage', { params: { query } }));
  return rows.map(({ tenant_id, period, credits_used }) => ({ tenant_id, period, credits_used }));
}

/** Returns the document of an answer. Throws the `detail` of a problem. */
function answerOf<Document>(answer: { data?: Document; error?: components['schemas']['Problem'] }): Document {
  if (answer.data === undefined) throw new Error(answer.error?.detail ?? 'the answer has no document');
  return answer.data;
}

const play = TASKS[TASK];
if (play === undefined) throw new Error(`unknown task ${JSON.stringify(TASK)}`);
process.stdout.write(JSON.stringify(await play()));
