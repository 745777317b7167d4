import type { TeamsConfig } from '../../config/channel-types.ts';
import type { Message, MessageKind } from '../messages/message.ts';
import { readTeamsBody } from './accepted-bodies.ts';
import type { Channel } from './channel.ts';
import { createChatChannel } from './chat-channel.ts';
import { messageTag, moreAlertsLine } from './read-message.ts';
import type { HttpChannelDeps } from './webhook-channel.ts';

/**
 * The largest card that is sent. Teams refuses messages above 28,672 bytes but counts more bytes than are sent: 28,897
 * for a request of 24,453, and up to half as many again if the card has many elements.
 */
const MAX_CARD_BYTES = 18_000;
/** The largest size of each text of a card: the title, a line, the command, the head of the chain, an address. */
const TEXT_BYTES = 2_000;
/** The shortest time between two messages. Teams throttles more than four requests a second. */
const SPACING_MS = 300;
const CARD_STYLES: Readonly<Record<MessageKind, string>> = {
  critical: 'attention',
  warning: 'warning',
  closed: 'good',
  summary: 'emphasis',
  test: 'emphasis',
};

/**
 * Creates a channel that posts each notification as an Adaptive Card to a workflow of Microsoft Teams ("When a Teams
 * webhook request is received"). All texts are text runs, in which nothing is read as markup or a link. Throws
 * `channel_url_refused`.
 */
export function createTeamsChannel(config: Omit<TeamsConfig, 'type'>, deps: HttpChannelDeps): Channel {
  return createChatChannel(config, deps, {
    type: 'teams',
    bodyOf: teamsBody,
    readBody: readTeamsBody,
    spacingMs: SPACING_MS,
  });
}

function teamsBody(message: Message): object {
  const { title, lines, items, links, command, kind, head } = message;
  const subtle = { isSubtle: true, size: 'Small' };
  const first = [
    {
      type: 'Container',
      style: CARD_STYLES[kind],
      bleed: true,
      items: [block(textRun(clipBytes(title, TEXT_BYTES), { weight: 'Bolder', size: 'Medium' }))],
    },
    ...lines.map((line) => block(textRun(clipBytes(line, TEXT_BYTES)))),
  ];
  const last = [
    block(textRun(messageTag(message), subtle)),
    ...(command === null ? [] : [block(textRun(clipBytes(command, TEXT_BYTES), { ...subtle, fontType: 'Monospace' }))]),
    ...(head === null ? [] : [block(textRun(clipBytes(head, TEXT_BYTES), subtle))]),
  ];
  const actions = Object.entries({ Acknowledge: links.acknowledge, 'Open alert': links.open }).flatMap(([name, url]) =>
    url === null || Buffer.byteLength(url) > TEXT_BYTES ? [] : [{ type: 'Action.OpenUrl', title: name, url }],
  );
  const messageOf = (body: readonly object[]): object => {
    const schema = 'http://adaptivecards.io/schemas/adaptive-card.json';
    const card = { $schema: schema, type: 'AdaptiveCard', version: '1.4', msteams: { width: 'Full' }, body, actions };
    return {
      type: 'message',
      attachments: [{ contentType: 'application/vnd.microsoft.card.adaptive', contentUrl: null, content: card }],
    };
  };
  const room = MAX_CARD_BYTES - jsonBytesOf(messageOf([...first, ...last]));
  return messageOf([...first, ...itemBlocks(items, room), ...last]);
}

/** Returns the longest beginning of a text that takes at most this many bytes as JSON. */
function clipBytes(text: string, most: number): string {
  if (jsonBytesOf(text) <= most) return text;
  let out = '';
  let bytes = jsonBytesOf('…');
  for (const character of text) {
    bytes += jsonBytesOf(character) - 2;
    if (bytes > most) break;
    out += character;
  }
  return `${out}…`;
}

/** Returns as many items as fit into `room` bytes, then a line that counts the rest. */
function itemBlocks(items: readonly string[], room: number): object[] {
  const all = items.map((item) => block(textRun(item)));
  if (jsonBytesOf(all) <= room) return all;
  let left = room - jsonBytesOf(block(textRun(moreAlertsLine(items.length))));
  const shown: object[] = [];
  for (const item of all) {
    left -= jsonBytesOf(item) + 1;
    if (left < 0) break;
    shown.push(item);
  }
  return [...shown, block(textRun(moreAlertsLine(items.length - shown.length)))];
}

function jsonBytesOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

function block(...inlines: object[]): object {
  return { type: 'RichTextBlock', inlines };
}

function textRun(text: string, look: object = {}): object {
  return { type: 'TextRun', text, ...look };
}
