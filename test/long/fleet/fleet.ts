import { startSandbox } from '../../../src/sandbox/server.ts';
import { configure } from '../../support/daemon-folder.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

/** How a workspace's service behaves. */
export type Manner = 'healthy' | 'hanging' | 'endless' | 'refused' | 'heavy';

const BAD: readonly Manner[] = ['hanging', 'endless', 'refused', 'heavy'];
const WORKSPACES = 100;
const EACH_BAD = 5;
const HEAVY_BYTES = 30 * 1024 * 1024;
const FOR_EVER = Number.POSITIVE_INFINITY;

export interface Fleet {
  folder: string;
  /** By workspace id. */
  manners: ReadonlyMap<string, Manner>;
  close(): Promise<void>;
}

/** A hundred workspaces of one service: five of each bad manner, eighty healthy ones, and a configuration for them. */
export async function startFleet(): Promise<Fleet> {
  const manners = new Map<string, Manner>();
  for (let index = 0; index < WORKSPACES; index += 1) {
    manners.set(`ws-${index + 1}`, BAD[Math.floor(index / EACH_BAD)] ?? 'healthy');
  }
  const workspaces = [...manners.keys()].map((id, index) => ({
    ...{ id, api_key_id: `ak_${id}`, secret_key: `sk_of_${id}_not_a_secret` },
    generate: { seed: index + 1, tenants: 20 + index * 5, months: 3 },
  }));
  const sandbox = await startSandbox({ scenario: { workspaces }, keepRequests: 0 });
  const mannerOf = (id: string | null): Manner | undefined => manners.get(id ?? '');
  const heavy = Buffer.alloc(HEAVY_BYTES, ' ');
  const { faults } = sandbox;
  const whose = (manner: Manner) => (call: { workspaceId: string | null }) => mannerOf(call.workspaceId) === manner;
  faults.push({ when: whose('hanging'), times: FOR_EVER, action: { type: 'delay', delayMs: 3_600_000 } });
  faults.push({ when: whose('endless'), times: FOR_EVER, action: { type: 'delay', delayMs: 20_000 } });
  faults.push({
    when: whose('endless'),
    times: FOR_EVER,
    action: {
      type: 'mutate',
      mutate: (envelope) => ({
        ...envelope,
        data: { ...(envelope.data as object), total_pages: 10_000_000, total_records: 1_000_000_000 },
      }),
    },
  });
  faults.push({ when: whose('heavy'), times: FOR_EVER, action: { type: 'body', body: heavy } });

  const listed = workspaces.map(({ id, api_key_id, secret_key }) => {
    return { id, api_key_id, secret_key: mannerOf(id) === 'refused' ? 'sk_that_is_wrong' : secret_key };
  });
  const folder = configure(temporaryFolder(), {
    http: { port: 0 },
    defaults: { base_url: sandbox.url, embed_url: sandbox.url, cron: '* * * * *' },
    workspaces: listed,
    alerts: { channels: [{ type: 'log' }] },
  });
  return { folder, manners, close: () => sandbox.close() };
}
