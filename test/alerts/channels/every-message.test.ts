import { expect, test } from 'vitest';
import { createEmailText } from '../../../src/alerts/channels/email-text.ts';
import { createPagerdutyChannel } from '../../../src/alerts/channels/pagerduty-channel.ts';
import { readMessage } from '../../../src/alerts/channels/read-message.ts';
import { createSlackChannel } from '../../../src/alerts/channels/slack-channel.ts';
import { createTeamsChannel } from '../../../src/alerts/channels/teams-channel.ts';
import type { Notification } from '../../../src/alerts/messages/facts/facts.ts';
import { renderPayload } from '../../../src/alerts/messages/notification.ts';
import { clockThat } from '../../support/time/test-clock.ts';
import { everyMessage } from '../messages/every-message.ts';
import { HOSTILE_NAMES } from './hostile.ts';
import { startReceiver } from './receiver.ts';
import { pagerdutyFaults, slackFaults, teamsFaults } from './vendor-rules.ts';

const LINKS = {
  public_url: 'https://ledger.example.com',
  acknowledge_link: 'https://ledger.example.com/acknowledge/alert_1/1/on-call/GkQZcS5y1Zb2w3x4y5z6a7b8c9d0e1f2',
};
/** Names that are long and grow when they are escaped. */
const LONG = '&<>"'.repeat(120);

// biome-ignore lint/suspicious/noExplicitAny: the bodies are those of three vendors
type Body = any;

/** Delivers messages to each channel, and returns the bodies that were sent. */
async function sent(notifications: readonly Notification[]): Promise<Record<'slack' | 'teams' | 'pagerduty', Body[]>> {
  const receiver = await startReceiver((response) => response.end('ok'));
  const clock = clockThat(() => 0);
  const config = (name: string) => ({ name, url: receiver.url, allowPrivate: true, timeoutMs: 5000 });
  const bodiesOf = async (send: (payload: string) => Promise<{ outcome: string }>): Promise<Body[]> => {
    receiver.received.length = 0;
    for (const notification of notifications) {
      expect((await send(renderPayload(notification))).outcome).toBe('delivered');
    }
    return receiver.received.map(({ body }) => JSON.parse(String(body)));
  };
  const delivery = (payload: string) => ({ notificationId: 'msg_9', payload, attempt: 1 });
  const { signal } = new AbortController();
  const pager = createPagerdutyChannel({ ...config('pager'), routingKey: 'r'.repeat(32) }, { clock });
  const slack = createSlackChannel(config('slack'), { clock });
  const bodies = {
    slack: await bodiesOf((payload) => slack.deliver(delivery(payload), { signal })),
    // A channel of its own for each message: it waits between two.
    teams: await bodiesOf((payload) =>
      createTeamsChannel(config('teams'), { clock }).deliver(delivery(payload), { signal }),
    ),
    pagerduty: await bodiesOf((payload) => pager.deliver(delivery(payload), { signal })),
  };
  await receiver.close();
  return bodies;
}

/** One message for each rule and event; PagerDuty is not sent that a finding has settled. */
function someMessages(changes: Parameters<typeof everyMessage>[0]): Notification[] {
  const open = everyMessage(changes).filter(({ level }) => level !== 'settled');
  return [...new Map(open.map((each) => [`${each.rule} ${each.cause} ${each.event}`, each])).values()];
}

test('the message of every rule and event is within the rules of Slack, Teams and PagerDuty, and has its title and lines', async () => {
  const notifications = someMessages(LINKS);
  const { slack, teams, pagerduty } = await sent(notifications);
  for (const [index, { title, lines, event, rule }] of notifications.entries()) {
    const about = `${rule} ${event}: ${title}`;
    expect(slackFaults(slack[index]), about).toEqual([]);
    expect(teamsFaults(teams[index]), about).toEqual([]);
    expect(pagerdutyFaults(pagerduty[index]), about).toEqual([]);
    const shown = JSON.stringify(slack[index].attachments[0].blocks.map((block: Body) => block.text?.text ?? ''));
    expect(slack[index].blocks[0].text.text).toBe(title);
    expect(shown).toContain(JSON.stringify(lines.join('\n')).slice(1, -1));
    const texts = teams[index].attachments[0].content.body.flatMap(({ items = [], inlines = [] }: Body) =>
      [...items.flatMap((item: Body) => item.inlines), ...inlines].map((run: Body) => run.text),
    );
    expect(texts.slice(0, lines.length + 1)).toEqual([title, ...lines]);
    if (event === 'closed') expect(pagerduty[index].event_action).toBe('resolve');
    else expect(pagerduty[index].payload.summary).toBe(title);
  }
});

test.each([LONG, ...HOSTILE_NAMES])('the name %j breaks no rule of a vendor', async (name) => {
  const names = { tenant_id: name, tenant_name: name, workspace_id: name };
  const some = someMessages({ ...LINKS, ...names }).filter(({ rule, event }) => rule === 'jump' || event === 'opened');
  const { slack, teams, pagerduty } = await sent(some);
  for (const body of slack) expect(slackFaults(body)).toEqual([]);
  for (const body of teams) expect(teamsFaults(body)).toEqual([]);
  for (const body of pagerduty) expect(pagerdutyFaults(body)).toEqual([]);
});

test('the message of every rule has the same title and lines in a mail', () => {
  for (const notification of someMessages({})) {
    const message = readMessage(renderPayload(notification));
    if (message === null) throw new Error('the payload cannot be read');
    const { subject, text } = createEmailText(message);
    expect(subject).toContain(`] ${notification.title.slice(0, 60)}`);
    expect(text.split('\n').slice(0, notification.lines.length + 1)).toEqual([
      notification.title,
      ...notification.lines,
    ]);
  }
});
