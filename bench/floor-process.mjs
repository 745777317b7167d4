// The floor, in a process of its own: undici with so many requests in flight, JSON.parse, and the check by hand.
import { Pool } from 'undici';
import { loadSource } from './build.mjs';

const { url, concurrency, root, window } = JSON.parse(process.argv[2]);
const { parseUsagePage } = await loadSource(root, 'usage-api/answers/check-page.ts');
const { DEFAULT_SIGNING, signRequest } = await loadSource(root, 'usage-api/public.ts');

const workspaceId = 'ws-bench';
const credentials = { workspaceId, apiKeyId: 'ak_bench', secretKey: 'sk_bench_not_a_secret', signing: DEFAULT_SIGNING };
const headers = signRequest(credentials, { method: 'GET', path: '/' }, Date.now());
const path = `/api/v1/external/workspaces/${workspaceId}/tenant-usage?${window}`;

const cpuBefore = process.cpuUsage();
const startedMs = performance.now();
const pool = new Pool(url, { connections: concurrency, pipelining: 1 });
let records = 0;
let next = 2;
const { total_pages: pages } = await read(1);
await Promise.all(Array.from({ length: concurrency }, lane));
const ms = performance.now() - startedMs;
const { user, system } = process.cpuUsage(cpuBefore);
await pool.close();
process.send({ ms, cpuMs: (user + system) / 1_000, pages, records }, () => process.disconnect());

async function lane() {
  while (next <= pages) {
    const page = next;
    next += 1;
    await read(page);
  }
}

async function read(page) {
  const { statusCode, body } = await pool.request({
    method: 'GET',
    path: `${path}page=${page}&per_page=100`,
    headers,
  });
  const bytes = new Uint8Array(await body.arrayBuffer());
  if (statusCode !== 200) throw new Error(`page ${page} was answered with ${statusCode}`);
  const content = parseUsagePage(bytes, { page, workspaceId });
  records += content.usage.length;
  return content;
}
