import { parseJson, row, type World } from '../world.ts';

/** globex goes from 7 credits to 9,000 after the first sync; the alert's id. */
export async function jumpOfGlobex(world: World): Promise<string> {
  const upstream = world.sandbox.workspace('ws-1');
  const set = ({ tenant_id, period, credits_used, request_count }: ReturnType<typeof row>) =>
    upstream.set({ tenantId: tenant_id, period, credits: credits_used, requests: request_count });
  set(row('globex', '2025-12', 7));
  set(row('globex', '2026-01', 7));
  set(row('globex', '2026-02', 7));
  await world.run('sync', '--from', '2025-12');
  set(row('globex', '2026-02', 9000, 20));
  const { out } = await world.run('sync', '--json');
  const { alerts } = parseJson(out).workspaces[0];
  return String(alerts.find((alert: { rule: string }) => alert.rule === 'jump').alert_id);
}
