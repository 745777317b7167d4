import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Role } from '../../src/core/text/roles.ts';
import { copiesOf, parseJson } from '../commands/world.ts';
import { serveApi, TOKENS } from '../daemon/api/served-api.ts';
import { connectByCommand } from '../daemon/mcp/mcp-client.ts';
import { inputOf, ledgerOfOperations } from '../operations/ledger-of-operations.ts';
import { CLI } from '../support/daemon-process.ts';

const worldOfOperations = copiesOf(ledgerOfOperations);
const TEXT = readFileSync(new URL('../../docs/api.md', import.meta.url), 'utf8');
const ADDRESS = 'http://127.0.0.1:9464';

/** Returns the code of a task as it is written, block by block. */
function codeOf(task: string): { language: string; code: string }[] {
  const [, section = ''] = new RegExp(`^### ${task}\\n(.*?)(?=^##|(?![^]))`, 'ms').exec(TEXT) ?? [];
  const blocks = [...section.matchAll(/```(\w+)\n(.*?)```/gs)];
  expect(blocks.length, task).toBeGreaterThan(0);
  return blocks.map(([, language = '', code = '']) => ({ language, code }));
}

/** Plays a block in a folder, with the address of a server in place of the documented one. */
async function play(
  { language, code }: { language: string; code: string },
  { folder, url, role, env = {} }: { folder: string; url: string; role: Role; env?: Record<string, string> },
): Promise<{ code: number; out: string; err: string }> {
  const text = code.replaceAll(ADDRESS, url);
  expect(text).not.toBe(code);
  const file = join(folder, language === 'js' ? 'task.mjs' : 'task.sh');
  writeFileSync(file, text);
  const command = language === 'js' ? process.execPath : 'bash';
  const token = TOKENS.find((known) => known.role === role)?.token ?? '';
  const args = language === 'js' ? [file] : ['-euo', 'pipefail', file];
  const child = spawn(command, args, { cwd: folder, env: { PATH: process.env.PATH, TOKEN: token, ...env } });
  let [out, err] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (piece: string) => (out += piece));
  child.stderr.setEncoding('utf8').on('data', (piece: string) => (err += piece));
  const [exitCode] = await once(child, 'close');
  return { code: exitCode, out, err };
}

async function served() {
  const world = await worldOfOperations();
  const { url, ask } = await serveApi(world);
  return { world, url, ask, folder: world.folder };
}

describe('the tasks of docs/api.md', () => {
  it("yesterday's usage into a sheet", async () => {
    const { world, url, folder } = await served();
    const [block] = codeOf("Yesterday's usage into a sheet");
    const day = '2026-02-20';
    expect(await play(block as never, { folder, url, role: 'read', env: { DAY: day } })).toMatchObject({
      code: 0,
      err: '',
    });
    const [head, ...rows] = readFileSync(join(folder, `usage-${day}.csv`), 'utf8')
      .trimEnd()
      .split(/\r?\n/);
    expect(head).toMatch(/^workspace_id,tenant_id,period,day,/);
    expect(rows).toHaveLength(
      world.query(`SELECT * FROM finance_daily WHERE day = '${day}' AND period = '2026-02'`).length,
    );
    const acme = rows.find((row) => row.startsWith('ws-1,acme,2026-02,')) ?? '';
    expect(acme.split(',')).toContain('60000');
    await play(block as never, { folder, url, role: 'read', env: { DAY: '2026-02-19' } });
    expect(readFileSync(join(folder, 'usage-2026-02-19.csv'), 'utf8').trimEnd()).toBe(head);
  });

  it('alerts into a chat bot, each once, and an acknowledgement from the chat', async () => {
    const { world, url, folder } = await served();
    const posts: string[] = [];
    const chat = createServer(async (request, response) => {
      let body = '';
      for await (const piece of request.setEncoding('utf8')) body += piece;
      posts.push(JSON.parse(body).text);
      response.writeHead(204).end();
    });
    await once(chat.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void chat.close());
    const { port } = chat.address() as { port: number };
    const env = { CHAT_URL: `http://127.0.0.1:${port}/` };
    const [script, acknowledge] = codeOf('Alerts into a chat bot');
    const { alert_id: alert = '' } = inputOf('alerts.show', world) as { alert_id?: string };
    for (const _ of [1, 2]) {
      expect(await play(script as never, { folder, url, role: 'operate', env })).toMatchObject({ code: 0, err: '' });
    }
    const open = parseJson((await world.run('alerts', 'list', '--json')).out).alerts;
    expect(posts).toEqual(
      open.map(({ severity, summary, alert_id: id }: Record<string, string>) => `${severity}: ${summary} (${id})`),
    );
    expect(posts.some((text) => text.includes(alert))).toBe(true);
    const acknowledged = await play(acknowledge as never, { folder, url, role: 'operate', env: { ALERT: alert } });
    expect(acknowledged).toMatchObject({ code: 0, err: '' });
    expect(parseJson(acknowledged.out)).toMatchObject({ applied: true, alert: { state: 'acknowledged' } });
  });

  it("the month's close from a pipeline: the blockers first, then the close, which may be repeated", async () => {
    const { world, url, folder } = await served();
    const [block] = codeOf("The month's close from a pipeline");
    const task = { folder, url, role: 'finance', env: { PERIOD: '2026-01', BUILD: '42' } } as const;
    const blocked = await play(block as never, task);
    expect(blocked).toMatchObject({ code: 1, out: '' });
    expect(blocked.err).toMatch(/^ws-2: /m);
    // Two complete walks at least twelve hours apart, as the documentation of closes says.
    for (let day = 0; day < 2; day += 1) {
      world.clock.nowMs += 24 * 3_600_000;
      world.clock.serviceMs = world.clock.nowMs;
      expect(await world.run('sync', '--from', '2025-12')).toMatchObject({ code: 0 });
    }
    const closed = await play(block as never, task);
    expect(closed).toMatchObject({ code: 0, err: '' });
    const closes = "SELECT workspace_id, actor, note FROM finance_closes WHERE period = '2026-01' ORDER BY event_seq";
    const after = world.query(closes);
    expect(after.at(-1)).toEqual({ workspace_id: 'ws-2', actor: 'finance-bot (API token)', note: 'pipeline 42' });
    expect(await play(block as never, task)).toMatchObject({ code: 0 });
    expect(world.query(closes)).toEqual(after);
  });

  it('statements into a portal: a page for each customer, and nothing of another on it', async () => {
    const { world, url, folder } = await served();
    const [block] = codeOf('Statements into a portal');
    const env = { PERIOD: '2026-01', WORKSPACE: 'ws-1' };
    expect(await play(block as never, { folder, url, role: 'read', env })).toMatchObject({ code: 0, err: '' });
    const statement = parseJson((await world.run('statement', '2026-01', '--workspace', 'ws-1', '--json')).out);
    const ids = statement.tenants.map(({ tenant_id }: { tenant_id: string }) => tenant_id);
    expect(
      readdirSync(folder)
        .filter((name) => name.endsWith('.html'))
        .toSorted(),
    ).toEqual(ids.map((id: string) => `${id}.html`).toSorted());
    const page = readFileSync(join(folder, 'acme.html'), 'utf8');
    expect(page).toContain('Acme Ltd');
    expect(page).not.toContain('globex');
  });

  it('an assistant over MCP, started as its configuration says', async () => {
    const { world, folder } = await served();
    const [block] = codeOf('An assistant over MCP');
    const { command, args } = JSON.parse(block?.code ?? '').mcpServers['usage-ledger'] as {
      command: string;
      args: string[];
    };
    expect(command).toBe('usage-ledger');
    const here = args.map((word) => word.replace('/srv/usage-ledger', folder));
    const { call } = await connectByCommand([CLI, ...here], '/');
    const { json } = await call('usage_list', { period: '2026-02', tenant: 'acme', workspace: 'ws-1' });
    const { rows } = parseJson(
      (await world.run('usage', '--period', '2026-02', '--tenant', 'acme', '--workspace', 'ws-1', '--json')).out,
    );
    expect(json.rows).toEqual(rows);
  });
});
