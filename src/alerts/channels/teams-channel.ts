import type { TeamsConfig } from '../../config/channel-types.ts';
import { readTeamsBody } from './accepted-bodies.ts';
import type { Channel } from './channel.ts';
import { clip, MESSAGE_LINES, type MessageView, tailLine } from './message-view.ts';
import { createViewChannel } from './view-channel.ts';
import type { HttpChannelDeps } from './webhook-channel.ts';

/**
 * Teams refuses a message of more than 28 kB (28,672 bytes), and counts more than is sent: it counted 28,897 for a request of
 * 24,453 bytes, and up to half as much again for one with many elements.
 */
const MAX_CARD_BYTES = 18_000;
const SUMMARY_BYTES = 4_000;
/** The commands of `Next:` together. */
const NEXT_BYTES = 3_000;
const ADDRESS_BYTES = 2_000;
/** Teams throttles more than four requests a second. */
const SPACING_MS = 260;
const VALUE_CHARACTERS = 1000;
const COLOURS: Readonly<Record<string, string>> = { critical: 'Attention', warning: 'Warning', resolved: 'Good' };

/**
 * Posts each notification to a workflow of Microsoft Teams ("When a Teams webhook request is received") as an Adaptive Card. Its
 * texts are runs, in which nothing is markup or a link. Raises `channel_url_refused`.
 */
export function createTeamsChannel(config: Omit<TeamsConfig, 'type'>, deps: HttpChannelDeps): Channel {
  return createViewChannel(config, deps, {
    type: 'teams',
    bodyOf: teamsMessage,
    readBody: readTeamsBody,
    spacingMs: SPACING_MS,
  });
}

function teamsMessage(view: MessageView, notificationId: string): object {
  const { mark, summary, facts, next, head, link, acknowledgeLink } = view;
  const title = { weight: 'Bolder', size: 'Medium', color: COLOURS[mark] ?? 'Default' };
  const first = [block(run(`usage-ledger: ${mark}`, title)), block(run(clipBytes(summary, SUMMARY_BYTES)))];
  const commands = withinRoom(
    next.map((command) => block(run(command, { fontType: 'Monospace' }))),
    NEXT_BYTES,
  );
  const last = [
    ...(commands.length === 0 ? [] : [block(run('Next:'))]),
    ...commands,
    block(run([notificationId, ...(head === null ? [] : [head])].join(', '), { isSubtle: true, size: 'Small' })),
  ];
  const factBlocks = facts.map(({ label, value }) =>
    block(run(`${label}: `, { weight: 'Bolder' }), run(clip(value, VALUE_CHARACTERS))),
  );
  const links = { 'Open the page': link, Acknowledge: acknowledgeLink };
  const actions = Object.entries(links).flatMap(([title, url]) =>
    url === null || Buffer.byteLength(url) > ADDRESS_BYTES ? [] : [{ type: 'Action.OpenUrl', title, url }],
  );
  const messageOf = (body: readonly object[]): object => {
    const schema = 'http://adaptivecards.io/schemas/adaptive-card.json';
    const card = { $schema: schema, type: 'AdaptiveCard', version: '1.4', msteams: { width: 'Full' }, body, actions };
    return {
      type: 'message',
      attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
    };
  };
  const room = MAX_CARD_BYTES - sizeOf(messageOf([...first, ...last]));
  const shownFacts = withinRoom(factBlocks, room);
  const lines = lineBlocks(view.lines, room - sizeOf(shownFacts));
  return messageOf([...first, ...shownFacts, ...lines, ...last]);
}

/** Returns the beginning of a text that fits into a number of bytes as JSON. */
function clipBytes(text: string, most: number): string {
  if (sizeOf(text) <= most) return text;
  let out = '';
  let bytes = sizeOf('…');
  for (const character of text) {
    bytes += sizeOf(character) - 2;
    if (bytes > most) break;
    out += character;
  }
  return `${out}…`;
}

/** As many lines as there is room for, and how many there are beyond. */
function lineBlocks(lines: readonly string[], room: number): object[] {
  const all = lines.slice(0, MESSAGE_LINES).map((line) => block(run(line)));
  const shown = withinRoom(all, room - sizeOf(block(run(tailLine(lines.length)))));
  return shown.length === lines.length ? shown : [...shown, block(run(tailLine(lines.length - shown.length)))];
}

function withinRoom(blocks: readonly object[], room: number): object[] {
  let left = room;
  const beyond = blocks.findIndex((each) => {
    left -= sizeOf(each) + 1;
    return left < 0;
  });
  return beyond < 0 ? [...blocks] : blocks.slice(0, beyond);
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function block(...inlines: object[]): object {
  return { type: 'RichTextBlock', inlines };
}

function run(text: string, look: object = {}): object {
  return { type: 'TextRun', text, ...look };
}
