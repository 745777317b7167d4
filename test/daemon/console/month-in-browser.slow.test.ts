import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startSandbox } from '../../../src/sandbox/server.ts';
import { createWorld, row, type World, workspaceSettings } from '../../commands/world.ts';
import { freePort } from '../../queue/support.ts';
import { browserOfFile, type Looked } from '../../support/browser.ts';
import { daemonFolder } from '../../support/daemon-folder.ts';
import { CLI, startDaemonProcess } from '../../support/daemon-process.ts';
import { eventually } from '../../support/eventually.ts';
import { viewLedger } from '../../support/ledger-view.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';
import { serveConsole, TOKENS } from './served-console.ts';

const look = browserOfFile();
const WORKSPACES = 40;
const PERIOD = '2026-01';
const CARD = { name: 'standard', currency: 'EUR', from_period: '2025-12', price_per_credit: '0.01' };
const token = TOKENS.find(({ role }) => role === 'finance')?.token ?? '';

/** Forty workspaces with three tenants each, whose January is over and proven; two of them grew too much to close unasked. */
async function fortyWorkspaces(): Promise<World> {
  const workspaces = Array.from({ length: WORKSPACES }, (_, at) => ({
    id: `ws-${String(at).padStart(2, '0')}`,
    api_key_id: `ak_${at}`,
    secret_key: `sk_${at}_not_a_secret`,
    usage: ['acme', 'globex', 'initech'].flatMap((tenant, nth) => [
      row(tenant, '2025-12', 1000 * (nth + 1)),
      row(tenant, PERIOD, at < 2 ? 9000 : 1100 * (nth + 1) + at),
      row(tenant, '2026-02', 500),
    ]),
  }));
  const world = await createWorld(...workspaces);
  world.configure({
    workspaces: workspaces.map((workspace) => workspaceSettings(world.sandbox, workspace)),
    close: { max_change: '50%' },
  });
  writeFileSync(join(world.folder, 'cards.yml'), JSON.stringify({ rates: [CARD] }));
  await world.run('sync');
  await world.run('rates', 'apply', 'cards.yml', '--yes');
  // Two complete walks half a day apart prove a month.
  world.clock.nowMs += 13 * 3_600_000;
  await world.run('sync');
  return world;
}

/** The invoices of January as somebody else has computed them: one is missing, one has another amount. */
function invoices({ query }: World): string {
  const rows = query(
    `SELECT workspace_id, tenant_id, format('%.2f', credits_used / 100.0) AS amount FROM finance_usage
     WHERE period = '${PERIOD}' ORDER BY 1, 2`,
  ) as { workspace_id: string; tenant_id: string; amount: string }[];
  const lines = rows
    .filter(({ workspace_id, tenant_id }) => workspace_id !== 'ws-07' || tenant_id !== 'acme')
    .map(({ workspace_id, tenant_id, amount }) => {
      const isOther = workspace_id === 'ws-11' && tenant_id === 'globex';
      return `${workspace_id},${tenant_id},${isOther ? '1.00' : amount}`;
    });
  return ['workspace,customer,net', ...lines, ''].join('\n');
}

/** A person with a pointer and a keyboard, whose clicks are counted. */
class Person {
  clicks = 0;
  readonly #page: Looked;

  constructor(page: Looked) {
    this.#page = page;
  }

  async click(selector: string): Promise<void> {
    this.clicks += 1;
    await this.#page.click(selector);
  }

  async fill(selector: string, text: string): Promise<void> {
    await this.click(selector);
    for (const character of text) await this.#page.press(character);
  }

  async choose(selector: string, file: string): Promise<void> {
    this.clicks += 2;
    await this.#page.choose(selector, file);
  }

  /** Waits until the page shows a text. */
  async read(text: string | RegExp): Promise<string> {
    let shown = '';
    await eventually(async () => {
      shown = String(await this.#page.evaluate("document.querySelector('main')?.innerText ?? ''"));
      expect(shown).toMatch(text);
    }, 60_000);
    return shown;
  }
}

/** The files of an archive by name, besides those that say when it was made. */
function filesOf(archive: string): Record<string, string> {
  const folder = temporaryFolder();
  execFileSync('unzip', ['-q', archive, '-d', folder]);
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.\w+$/.test(name));
  const compared = names.filter((name) => name !== 'month-end.json' && name !== 'manifest.json').sort();
  return Object.fromEntries(compared.map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

describe('a month in a browser', { timeout: 300_000 }, () => {
  it('of forty workspaces is closed, reconciled and bundled with at most thirty clicks', async () => {
    const world = await fortyWorkspaces();
    writeFileSync(join(world.folder, 'january.csv'), invoices(world));
    const { url } = await serveConsole(world);
    const downloads = temporaryFolder();
    const startedMs = performance.now();
    const page = await look(`${url}/?token=${token}`, 1440);
    await page.saveDownloads(downloads);
    const person = new Person(page);
    await person.click('nav a[href="/months"]');
    await person.read('January 2026');
    await person.click(`a[href="/months/${PERIOD}"]`);
    const [total] = world.query(
      `SELECT format('%,d', sum(credits_used) / 100) || format('.%02d', sum(credits_used) % 100) AS text
       FROM finance_usage WHERE period = '${PERIOD}'`,
    ) as { text: string }[];
    expect(await person.read('0 closed, 38 ready, 2 blocked')).toContain(`${total?.text} EUR`);
    await person.fill('form[data-select] input[name="person"]', 'Ada');
    await person.click('button[value="ready"]');
    await person.read('38 workspaces closed.');
    await person.click('input[name="id"][value="ws-00"]');
    await person.click('input[name="id"][value="ws-01"]');
    await person.fill('form[data-select] input[name="note"]', 'new contracts');
    await person.click('button[value="accept"]');
    await person.read('2 workspaces closed.');
    await person.click('details summary');
    await person.choose('input[type="file"]', join(world.folder, 'january.csv'));
    await person.fill('input[name="workspace_column"]', 'workspace');
    await person.fill('input[name="tenant_column"]', 'customer');
    await person.fill('input[name="amount_column"]', 'net');
    await person.click('form[action$="/reconcile"] button');
    const [globex] = world.query(
      `SELECT format('%.2f', 1 - credits_used / 100.0) AS text FROM finance_usage
       WHERE workspace_id = 'ws-11' AND tenant_id = 'globex' AND period = '${PERIOD}'`,
    ) as { text: string }[];
    const result = await person.read(/2\s+of 120/);
    expect(result).toContain(`${globex?.text} EUR`);
    expect(result).toContain('Not invoiced');
    await person.fill('form[action$="/record"] input[name="note"]', 'January run');
    await person.click('form[action$="/record"] button');
    await person.read('Recorded: 2 tenants differ.');
    await person.click(`a[href="/months/${PERIOD}/bundle.zip"]`);
    const bundle = join(downloads, `month-end-${PERIOD}.zip`);
    await eventually(() => expect(existsSync(bundle)).toBe(true), 60_000);
    await person.click(`.crumb a[href="/months"]`);
    await person.read('January 2026');
    await person.click(`a[href="/months/${PERIOD}"]`);
    const [, digest = ''] = /([0-9a-f]{64})/.exec(await person.read('Digest of the bundle')) ?? [];
    const tookMs = performance.now() - startedMs;
    expect(person.clicks).toBeLessThanOrEqual(30);
    expect(tookMs).toBeLessThan(5 * 60_000);
    expect(page.complaints).toEqual([]);

    expect(
      world.query(`SELECT state, count(*) AS n FROM finance_period_totals WHERE period = '${PERIOD}' GROUP BY state`),
    ).toEqual([{ state: 'closed', n: WORKSPACES }]);
    expect(
      world.query(
        `SELECT count(*) AS n, sum(matched) AS matched, sum(missing) AS missing, sum(different) AS different
         FROM finance_reconciliations WHERE actor = 'Ada (signed in)' AND note = 'January run'`,
      ),
    ).toEqual([{ n: WORKSPACES, matched: 118, missing: 1, different: 1 }]);
    // The command writes the same documents.
    await world.run('month-end', PERIOD, '--bundle', 'command.zip');
    expect(filesOf(bundle)).toEqual(filesOf(join(world.folder, 'command.zip')));
    const unpacked = temporaryFolder();
    execFileSync('unzip', ['-q', bundle, '-d', unpacked]);
    const verified = spawnSync(process.execPath, ['verify-bundle.mjs', '--digest', digest], { cwd: unpacked });
    expect([verified.status, String(verified.stderr)]).toEqual([0, '']);
  });

  it('gives the statement of a tenant that is found by part of its name', async () => {
    const usage = [row('cus_8812', PERIOD, 4200), row('cus_9001', PERIOD, 100)];
    const world = await createWorld({ id: 'ws-1', api_key_id: 'ak', secret_key: 'sk_not_a_secret', usage });
    await world.run('sync');
    writeFileSync(join(world.folder, 'names.csv'), 'tenant_id,display_name\ncus_8812,Blue Harbour Traders\n');
    await world.run('tenants', 'import', 'names.csv');
    const { url } = await serveConsole(world, {}, { withApi: true });
    const downloads = temporaryFolder();
    const page = await look(`${url}/months/${PERIOD}/statements?token=${token}`, 1440);
    await page.saveDownloads(downloads);
    const person = new Person(page);
    await person.fill('input[name="search"]', 'harbour tr');
    await page.press('Enter');
    await eventually(async () => expect(await page.evaluate('location.search')).toContain('search='));
    expect(await person.read('Blue Harbour Traders')).not.toContain('cus_9001');
    await person.click('a[aria-label="Statement of cus_8812 as a page"]');
    const file = join(downloads, `statement-${PERIOD}.html`);
    await eventually(() => expect(existsSync(file) || readdirSync(downloads).length > 0).toBe(true), 30_000);
    const [saved = ''] = readdirSync(downloads);
    expect(readFileSync(join(downloads, saved), 'utf8')).toContain('Blue Harbour Traders');
  });

  it('is repaired when a workspace fails: once its service answers again, "Sync now" makes it fresh', async () => {
    const month = new Date().toISOString().slice(0, 7);
    const workspaces = ['ws-good', 'ws-failing'].map((id) => ({
      id,
      api_key_id: `ak_${id}`,
      secret_key: `sk_${id}_not_a_secret`,
      usage: [row('acme', month, 1000)],
    }));
    const sandbox = await startSandbox({ scenario: { workspaces } });
    onTestFinished(() => sandbox.close());
    sandbox.faults.push({
      when: { workspaceId: 'ws-failing' },
      times: Number.POSITIVE_INFINITY,
      action: { type: 'status', status: 403 },
    });
    const port = await freePort();
    const folder = daemonFolder(sandbox, { http: { port }, defaults: { cron: '0 0 1 1 *' } });
    const daemon = startDaemonProcess(folder);
    await daemon.line('ready');
    await daemon.line('run failed, the slot will be tried again', 60_000);
    const { stdout: link } = await promisify(execFile)(process.execPath, [CLI, 'open'], { cwd: folder });
    const page = await look(link.trim(), 1440);
    const person = new Person(page);
    await person.read('ws-failing');
    await person.click('nav a[href="/runs"]');
    await person.read('1 of 2 workspaces are fresh');
    await person.click('tbody a[href="/runs?workspace=ws-failing"]');
    await person.read('Last error');
    sandbox.faults.clear();
    await person.fill('form[action="/runs/sync"] input[name="person"]', 'Ada');
    await person.click('form[action="/runs/sync"] button');
    await person.read('A sync is queued.');
    const { rows } = viewLedger(join(folder, 'data', 'ledger.db'));
    await eventually(
      () =>
        expect(
          rows("SELECT status FROM finance_runs WHERE workspace_id = 'ws-failing' ORDER BY started_at DESC LIMIT 1"),
        ).toEqual([{ status: 'applied' }]),
      60_000,
    );
    await person.click('nav a[href="/runs"]');
    await person.read('2 of 2 workspaces are fresh');
  });
});
