import { describe, expect, it } from 'vitest';
import { copiesOf, type World } from '../../commands/world.ts';
import { ledgerOfOperations } from '../../operations/ledger-of-operations.ts';
import { serveConsole, type Visitor } from './served-console.ts';

const world = copiesOf(ledgerOfOperations);

/** The alert about acme, which fires in February. */
function alertOf(served: World): string {
  const [row] = served.query("SELECT alert_id FROM finance_alerts WHERE tenant_id = 'acme' AND state = 'firing'");
  return (row as { alert_id: string }).alert_id;
}

function lastChange(served: World, alertId: string): unknown {
  const [row] = served.query(
    `SELECT x.change, x.actor, x.note FROM alert_transitions x JOIN alerts USING (alert_key)
     WHERE alert_id = '${alertId}' ORDER BY x.revision DESC LIMIT 1`,
  );
  return row;
}

async function scene(role: 'read' | 'operate' | 'finance' = 'operate', person = 'Ada Lovelace') {
  const served = await world();
  const { signIn } = await serveConsole(served);
  const visitor = await signIn(role, person);
  return { served, visitor, alertId: alertOf(served) };
}

/** The notice or fault that the page after a form shows. */
async function shownAfter(visitor: Visitor, path: string): Promise<string> {
  const { body } = await visitor.get(path);
  return /role="(?:status|alert)">([^<]*)/.exec(body)?.[1] ?? '';
}

describe('the list of alerts', () => {
  it('shows open alerts with what they are worth, and filters by each parameter', async () => {
    const { visitor, alertId } = await scene();
    const { status, body } = await visitor.get('/alerts');
    expect(status).toBe(200);
    expect(body).toContain('<h1>1 open alert</h1>');
    expect(body).toContain(`<a href="/alerts/${alertId}">Acme Ltd</a>`);
    const found = ['rule=jump', 'workspace=ws-1', 'tenant=acme', 'state=firing', 'sort=worth', 'state=nonsense'];
    for (const query of found)
      expect([query, (await visitor.get(`/alerts?${query}`)).body.includes(alertId)]).toEqual([query, true]);
    for (const query of ['rule=drop', 'workspace=ws-2', 'tenant=nobody', 'state=resolved']) {
      const page = await visitor.get(`/alerts?${query}`);
      expect([query, page.body.includes(`/alerts/${alertId}`), page.status]).toEqual([query, false, 200]);
    }
    expect((await visitor.get('/alerts?workspace=nowhere')).status).toBe(400);
  });

  it('acknowledges, silences and labels the selected alerts, and names the person', async () => {
    const { served, visitor, alertId } = await scene();
    await visitor.post('/alerts/feedback', { id: [alertId], label: 'real', note: 'seen' }, { from: '/alerts' });
    expect(await shownAfter(visitor, '/alerts')).toBe('1 alert labelled.');
    await visitor.post('/alerts/silence', { id: alertId, until: '2026-03-01', note: 'load test' }, { from: '/alerts' });
    expect(served.query('SELECT reason, created_by FROM silences ORDER BY silence_key DESC LIMIT 1')).toEqual([
      { reason: 'load test', created_by: 'Ada Lovelace (signed in)' },
    ]);
    const form = { id: alertId, note: 'on it', back: '/alerts?sort=worth' };
    const answer = await visitor.post('/alerts/acknowledge', form, { from: '/alerts' });
    expect([answer.status, answer.headers.location]).toEqual([303, '/alerts?sort=worth']);
    expect(await shownAfter(visitor, '/alerts')).toBe('1 alert acknowledged.');
    expect(lastChange(served, alertId)).toMatchObject({
      change: 'acknowledged',
      actor: 'Ada Lovelace (signed in)',
      note: 'on it',
    });
  });

  it('says what is wrong with a form, and changes nothing', async () => {
    const { served, visitor, alertId } = await scene();
    const before = lastChange(served, alertId);
    await visitor.post('/alerts/acknowledge', {}, { from: '/alerts' });
    expect(await shownAfter(visitor, '/alerts')).toBe('No alert is selected. Select alerts first.');
    await visitor.post('/alerts/silence', { id: alertId, until: '2020-01-01', note: 'late' }, { from: '/alerts' });
    expect(await shownAfter(visitor, '/alerts')).toContain('is in the past');
    await visitor.post('/alerts/acknowledge', { id: 'alert_nonsense' }, { from: '/alerts' });
    expect(await shownAfter(visitor, '/alerts')).toContain('There is no alert');
    expect(lastChange(served, alertId)).toEqual(before);
  });

  it('shows a reader no form, and refuses one that a reader sends', async () => {
    const { served, visitor, alertId } = await scene('read');
    const before = lastChange(served, alertId);
    expect((await visitor.get('/alerts')).body).not.toContain('/alerts/acknowledge');
    expect((await visitor.get(`/alerts/${alertId}`)).body).not.toContain(`${alertId}/`);
    for (const path of ['/alerts/acknowledge', `/alerts/${alertId}/acknowledge`]) {
      const answer = await visitor.post(path, { id: alertId, note: 'x' });
      expect([path, answer.status]).toEqual([path, 403]);
      expect(answer.body).toContain('needs the role operate');
    }
    expect(lastChange(served, alertId)).toEqual(before);
  });

  it('asks for a name once, and changes nothing without one', async () => {
    const { served, visitor, alertId } = await scene('operate', '');
    expect((await visitor.get(`/alerts/${alertId}`)).body).toContain('name="person"');
    await visitor.post(`/alerts/${alertId}/acknowledge`, { person: ' ' });
    expect(await shownAfter(visitor, `/alerts/${alertId}`)).toBe('Enter your name.');
    await visitor.post(`/alerts/${alertId}/acknowledge`, { person: 'Grace' });
    expect(lastChange(served, alertId)).toMatchObject({ actor: 'Grace (signed in)' });
    expect((await visitor.get(`/alerts/${alertId}`)).body).not.toContain('name="person"');
  });
});

describe('the page of an alert', () => {
  it('shows the chart with limit and notifications, the figures, and who was notified', async () => {
    const { visitor, alertId } = await scene();
    const { status, body } = await visitor.get(`/alerts/${alertId}`);
    expect(status).toBe(200);
    expect(/<h1>([^<]*)/.exec(body)?.[1]).toContain('acme (Acme Ltd, ws-1): 60,000 credits');
    expect(body).toMatch(/<svg class="chart" viewBox="0 0 760 300" role="img" aria-label="Credits by day/);
    expect(body).toContain('class="limit"');
    expect(body).toContain('<title>20 Feb 2026, 13:00: grown, sent to log</title>');
    expect(body).toMatch(/Grew<\/strong> <span class="quiet small">sent to log/);
    expect(body).toContain('<a href="/tenants/ws-1/acme">Acme Ltd</a>');
    expect(body).toMatch(/<dt>Limit<\/dt><dd>[\d,]+ credits/);
    const unknown = await visitor.get('/alerts/alert_nonsense');
    expect([unknown.status, unknown.body]).toEqual([404, expect.stringContaining('Choose it on the page Alerts')]);
  });

  it('plans growth, and shows a refused form again with its fields', async () => {
    const { served, visitor, alertId } = await scene();
    const path = `/alerts/${alertId}`;
    await visitor.post(`${path}/plan`, { up_to: 'many', until: '2026-03-01', reason: 'launch "A"' });
    const again = (await visitor.get(path)).body;
    expect(again).toContain('class="fault"');
    expect(again).toContain('value="launch &quot;A&quot;"');
    await visitor.post(`${path}/plan`, { up_to: '90,000', until: '2026-03-01', reason: 'launch' });
    expect(
      served.query('SELECT kind, up_to_credits AS upTo, period FROM silences ORDER BY silence_key DESC LIMIT 1'),
    ).toEqual([{ kind: 'plan', upTo: 90_000, period: '2026-02' }]);
    const silenced = (await visitor.get('/alerts/silences')).body;
    expect(silenced).toContain('up to 90,000 credits');
    const [{ id }] = served.query('SELECT silence_id AS id FROM silences ORDER BY silence_key DESC LIMIT 1') as [
      { id: string },
    ];
    await visitor.post('/alerts/silences/end', { silence_id: id });
    expect((await visitor.get('/alerts/silences')).body).not.toContain('up to 90,000 credits');
  });
});
