import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stopChild } from './children.mjs';

/** Before all months of the service: the whole listing is read each time, as the peers read it. */
export const FIRST_MONTH = '2000-01';

/** Starts a service with so many records and reads it once, so that all its pages are ready. */
export async function startService(bench, { records, latencyMs = 0 }) {
  const { children, options, folder } = bench;
  const child = children.fork('service-process.mjs', { records, latencyMs });
  const { url } = await answerOf(child);
  // As the command asks for them, and as the peers do.
  const warm = async () => {
    await floor(bench, { url });
    await readAll(bench, { url, window: '' });
  };
  await warm();
  return {
    records,
    url,
    /** Changes 5 % of the records and says how many those are. */
    change: async (round) => {
      child.send({ change: round });
      const { changed } = await answerOf(child);
      await warm();
      return changed;
    },
    /** Writes a configuration that reads from here and gives its path. */
    configure: (name, { concurrency = options.concurrency, httpPort = 0, more = '' } = {}) => {
      const file = join(folder, `${name}.yml`);
      writeFileSync(
        file,
        configuration({ ledger: join(folder, name, 'ledger.db'), url, concurrency, httpPort, more }),
        { mode: 0o600 },
      );
      return file;
    },
    stop: () => stopChild(child),
  };
}

/** The floor: fetch, parse and check every page, and nothing else. */
export function floor(bench, { url }) {
  const window = `from_period=${FIRST_MONTH}&to_period=${new Date().toISOString().slice(0, 7)}&`;
  return readAll(bench, { url, window });
}

function readAll({ children, options }, { url, window }) {
  const { root, concurrency } = options;
  return children.ask('floor-process.mjs', { url, concurrency, root, window });
}

/** One whole sync in a process of its own. */
export function sync({ children, options }, config) {
  return children.ask('sync-process.mjs', { config, root: options.root });
}

async function answerOf(child) {
  const left = new AbortController();
  const gone = once(child, 'exit', { signal: left.signal }).then(() => {
    throw new Error('the service of the bench has ended');
  });
  try {
    const [message] = await Promise.race([once(child, 'message', { signal: left.signal }), gone]);
    return message;
  } finally {
    gone.catch(() => undefined);
    left.abort();
  }
}

function configuration({ ledger, url, concurrency, httpPort, more }) {
  return `ledger:
  path: ${ledger}
http:
  port: ${httpPort}
log_level: warn
workspaces:
  - id: ws-bench
    base_url: ${url}
    embed_url: ${url}
    api_key_id: ak_bench
    secret_key: sk_bench_not_a_secret
    concurrency: ${concurrency}
    requests_per_second: 1000000
${more}`;
}
