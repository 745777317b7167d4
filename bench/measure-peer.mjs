import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { loadBuild } from './build.mjs';
import { versionOf } from './machine.mjs';
import { startService, sync } from './service.mjs';
import { median } from './stats.mjs';

/**
 * The same pages by the tools that a person would reach for: curl reads them over one kept connection, sqlite-utils
 * upserts the records as they come. No proof, no history, no alerts. Null when one of the two is not installed.
 */
export async function measurePeer(bench, say) {
  const { peerRecords: records, peerRounds, root } = bench.options;
  const missing = ['curl', 'sqlite-utils'].filter((command) => versionOf(command) === null);
  if (missing.length > 0) return { notMeasured: `${missing.join(' and ')} not found on PATH` };
  const service = await startService(bench, { records });
  const config = service.configure('peer');
  const database = join(bench.folder, 'peer.db');
  const { DEFAULT_SIGNING, signRequest } = await loadBuild(root, 'usage-api/public.js');
  const credentials = { workspaceId: 'ws-bench', apiKeyId: 'ak_bench', secretKey: 'sk_bench_not_a_secret' };
  const rounds = [];
  for (let round = 0; round < peerRounds; round += 1) {
    say(`${records} records by curl and sqlite-utils, round ${round + 1}`);
    const load = { url: service.url, pages: Math.ceil(records / 100), database, bench };
    const request = { method: 'GET', path: '/' };
    const headers = () => signRequest({ ...credentials, signing: DEFAULT_SIGNING }, request, Date.now());
    // A whole sync has its data on the disk when it ends; what the peer leaves to the kernel must not slow the next one.
    const settle = () => bench.children.run('sync', []);
    const emptyMs = (await sync(bench, config)).ms;
    const unchangedMs = (await sync(bench, config)).ms;
    await settle();
    const peerEmptyMs = await timed(() => upsertAll({ ...load, headers: headers() }));
    await settle();
    const peerUnchangedMs = await timed(() => upsertAll({ ...load, headers: headers() }));
    await settle();
    rounds.push({ peerEmptyMs, peerUnchangedMs, emptyMs, unchangedMs });
    rmSync(database);
    rmSync(join(dirname(config), 'peer'), { recursive: true });
  }
  await service.stop();
  const middle = (field) => median(rounds.map((round) => round[field]));
  return {
    records,
    versions: { curl: versionOf('curl'), 'sqlite-utils': versionOf('sqlite-utils') },
    empty: middle('peerEmptyMs') / middle('emptyMs'),
    unchanged: middle('peerUnchangedMs') / middle('unchangedMs'),
    peerEmptyMs: middle('peerEmptyMs'),
    peerUnchangedMs: middle('peerUnchangedMs'),
    rounds,
  };
}

async function upsertAll({ url, pages, database, headers, bench }) {
  const address = `${url}/api/v1/external/workspaces/ws-bench/tenant-usage?per_page=100&page=[1-${pages}]`;
  const signed = Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  const curlArguments = ['--silent', '--show-error', '--fail', '--write-out', '\n', ...signed, address];
  const curl = bench.children.spawn('curl', curlArguments, { stdio: ['ignore', 'pipe', 'inherit'] });
  const into = ['upsert', database, 'usage', '-', '--nl', '--pk', 'tenant_id', '--pk', 'period'];
  const upsert = bench.children.spawn('sqlite-utils', into, { stdio: ['pipe', 'ignore', 'inherit'] });
  const ends = [once(curl, 'close'), once(upsert, 'close')];
  for await (const page of createInterface({ input: curl.stdout })) {
    const lines = JSON.parse(page).data.usage.map((record) => `${JSON.stringify(record)}\n`);
    if (!upsert.stdin.write(lines.join(''))) await once(upsert.stdin, 'drain');
  }
  upsert.stdin.end();
  for (const [code] of await Promise.all(ends))
    if (code !== 0) throw new Error(`curl or sqlite-utils ended with ${code}`);
}

async function timed(work) {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
