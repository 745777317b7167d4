import { describe, expect, it } from 'vitest';
import { createWorld, FIRST, parseJson, SECOND, SECRET, type World, workspaceSettings } from '../world.ts';

async function createDashboard(world: World): Promise<string> {
  const { out } = await world.run('dashboard', 'create', '--title', 'Usage', '--workspace', 'ws-1', '--json');
  return parseJson(out).dashboard_id;
}

describe('dashboard create', () => {
  it('takes the only workspace and says what was created', async () => {
    const world = await createWorld(FIRST);
    const { code, out, err } = await world.run('dashboard', 'create', '--title', 'Usage');
    expect(code).toBe(0);
    expect(out).toMatch(/^created dashboard \S+ in ws-1\n$/);
    expect(err).toBe('');
  });

  it('gives the dashboard as the service describes it', async () => {
    const world = await createWorld(FIRST, SECOND);
    const { out } = await world.run(
      ...['dashboard', 'create', '--title', 'Usage', '--description', 'For finance'],
      ...['--workspace', 'ws-2', '--json'],
    );
    expect(parseJson(out)).toMatchObject({ title: 'Usage', description: 'For finance', workspace_id: 'ws-2' });
  });

  it('names the workspaces when it cannot tell which one is meant', async () => {
    const world = await createWorld(FIRST, SECOND);
    const several = await world.run('dashboard', 'create', '--title', 'Usage');
    expect(several.code).toBe(2);
    expect(several.err).toContain('--workspace is required');
    expect(several.err).toContain('use one of "ws-1", "ws-2"');
    const unknown = await world.run('dashboard', 'create', '--title', 'Usage', '--workspace', 'ws-9');
    expect(unknown.code).toBe(2);
    expect(unknown.err).toContain('--workspace "ws-9" is not configured');
    expect(world.sandbox.requests.count).toBe(0);
  });

  it('refuses to go without a title', async () => {
    const world = await createWorld(FIRST);
    expect(await world.run('dashboard', 'create')).toMatchObject({ code: 2, err: expect.stringContaining('--title') });
    expect(await world.run('dashboard', 'create', '--title', ' ')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--title is empty'),
    });
  });

  it('fails with the reason and the remedy when the secret is wrong', async () => {
    const world = await createWorld(FIRST);
    world.configure({
      workspaces: [{ ...workspaceSettings(world.sandbox, FIRST), secret_key: 'sk_wrong_not_a_secret' }],
    });
    const { code, out, err } = await world.run('dashboard', 'create', '--title', 'Usage', '--json');
    expect(code).toBe(1);
    expect(parseJson(out).error).toMatchObject({ code: 'unauthorized', hint: expect.stringContaining('secret_key') });
    expect(out + err).not.toContain('sk_wrong');
  });
});

describe('embed-token', () => {
  it('prints the token and its expiry on stdout and nowhere else', async () => {
    const world = await createWorld(FIRST);
    const dashboard = await createDashboard(world);
    const json = await world.run('embed-token', '--dashboard', dashboard, '--validity', '600', '--json');
    expect(json.code).toBe(0);
    expect(json.err).toBe('');
    const { token, expires_at } = parseJson(json.out);
    expect(token.length).toBeGreaterThan(10);
    expect(Date.parse(expires_at)).toBe(Date.UTC(2026, 1, 20, 12, 10));
    const text = await world.run('embed-token', '--dashboard', dashboard);
    expect(text.out).toMatch(/^token {4}\S+\nexpires {2}2026-02-20T13:00:00/);
    expect(text.err).toBe('');
    expect(json.out + text.out).not.toContain(SECRET);
  });

  it.each(['0', '-5', '1.5', 'soon', '999999999999'])('refuses a validity of %s', async (validity) => {
    const world = await createWorld(FIRST);
    const { code, err } = await world.run('embed-token', '--dashboard', 'd-1', `--validity=${validity}`);
    expect(code).toBe(2);
    expect(err).toContain('give --validity a whole number from 1 to');
    expect(world.sandbox.requests.count).toBe(0);
  });

  it('fails with the service’s reason for a dashboard that is not there', async () => {
    const world = await createWorld(FIRST);
    const { code, err } = await world.run('embed-token', '--dashboard', 'none');
    expect(code).toBe(1);
    expect(err).toContain('404');
    expect(err).not.toContain(SECRET);
  });
});
