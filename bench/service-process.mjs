// The service of a bench, in a process of its own: the sandbox with all pages kept ready once a walk has read them.
// Messages: `{ change: round }` changes 5 % of the records and is answered with how many those were.
import { loadSource } from './build.mjs';

const CHANGED_PART = 20;
/** Tenants whose open month triples with a change, so that alert rules and outbox have something to do. */
const JUMPING = 20;

const { records, latencyMs } = JSON.parse(process.argv[2]);
// This checkout's own, whichever is measured.
const { startSandbox } = await loadSource(null, 'sandbox/server.ts');
const months = 10;
const sandbox = await startSandbox({
  keepRequests: 0,
  cacheBytes: Math.max(2 ** 24, records * 800),
  latencyMs,
  scenario: {
    workspaces: [
      {
        id: 'ws-bench',
        api_key_id: 'ak_bench',
        secret_key: 'sk_bench_not_a_secret',
        order: 'shuffled',
        // The open month is filled as far as its day says and stands still: unchanged means unchanged.
        generate: { seed: 1, tenants: Math.max(1, Math.round(records / months)), months, open_month: 'at_start' },
      },
    ],
  },
});
process.on('message', ({ change: round }) => process.send({ changed: change(round) }));
process.on('disconnect', () => process.exit());
process.on('SIGTERM', () => process.exit());
process.send({ url: sandbox.url });

function change(round) {
  const workspace = sandbox.workspace();
  const picked = [];
  let seen = 0;
  const everything = { from: null, to: null, tenantId: null, offset: 0, limit: Number.POSITIVE_INFINITY };
  workspace.read(everything, (tenant, period, { credits, requests }) => {
    if (seen % CHANGED_PART === round % CHANGED_PART) picked.push([tenant.id, period, credits, requests]);
    seen += 1;
  });
  const open = picked.reduce((latest, [, period]) => (period > latest ? period : latest), '');
  let jumps = 0;
  for (const [tenantId, period, credits, requests] of picked) {
    const jumping = period === open && jumps < JUMPING;
    if (jumping) jumps += 1;
    workspace.set({ tenantId, period, credits: jumping ? credits * 3 : credits + 10, requests: requests + 2 });
  }
  return picked.length;
}
