import type { SlackConfig } from '../../config/channel-types.ts';
import type { Message, MessageKind } from '../messages/message.ts';
import { readSlackBody } from './accepted-bodies.ts';
import type { Channel } from './channel.ts';
import { createChatChannel } from './chat-channel.ts';
import { messageTag, moreAlertsLine } from './read-message.ts';
import type { HttpChannelDeps } from './webhook-channel.ts';

/** Slack's limits in characters: for a header, a section, a button's text and the address of a button. */
const HEADER_CHARACTERS = 150;
const SECTION_CHARACTERS = 3000;
const BUTTON_CHARACTERS = 75;
const ADDRESS_CHARACTERS = 3000;
/** Slack's limit in characters for a line of context and for the preview on a phone. */
const CONTEXT_CHARACTERS = 2000;
/**
 * The most blocks for the alerts of a group or daily summary. Slack accepts 50 blocks; the rest needs at most eight.
 */
const ITEM_SECTIONS = 42;
const COLOURS: Readonly<Record<MessageKind, string>> = {
  critical: '#b00020',
  warning: '#d18700',
  closed: '#1b7f37',
  summary: '#6b7280',
  test: '#6b7280',
};

/**
 * Creates a channel that posts each notification to an incoming webhook of Slack. The title is a header; the rest has a
 * bar at its side in the colour of the message's kind. All texts are plain, without markup, links or mentions. If the
 * Slack channel was archived or removed, Slack answers 410 and this channel is disabled. Throws `channel_url_refused`.
 */
export function createSlackChannel(config: Omit<SlackConfig, 'type'>, deps: HttpChannelDeps): Channel {
  return createChatChannel(config, deps, { type: 'slack', bodyOf: slackBody, readBody: readSlackBody });
}

/** Builds the body for Slack. `text` is shown in a phone's notification; the blocks are the message. */
function slackBody(message: Message): object {
  const { title, lines, items, links, command, kind, head } = message;
  const tag = messageTag(message);
  const isCut = escaped(title, SECTION_CHARACTERS).length > HEADER_CHARACTERS;
  const blocks = [
    ...(isCut ? [sectionBlock(title)] : []),
    ...(lines.length === 0 ? [] : [sectionBlock(lines.join('\n'))]),
    ...itemSections(items),
    ...buttons({ Acknowledge: links.acknowledge, 'Open alert': links.open }),
    context([tag, command, head]),
  ];
  return {
    text: escaped(`${tag}: ${title}`, CONTEXT_CHARACTERS),
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [{ type: 'header', text: plainText(title, HEADER_CHARACTERS) }],
    attachments: [{ color: COLOURS[kind], blocks }],
  };
}

function sectionBlock(text: string): object {
  return { type: 'section', text: plainText(text, SECTION_CHARACTERS) };
}

/** Builds the buttons with the message's links. Texts contain no links. */
function buttons(links: Record<string, string | null>): object[] {
  const elements = Object.entries(links).flatMap(([text, url]) => {
    if (url === null || url.length > ADDRESS_CHARACTERS) return [];
    const button = { type: 'button', text: plainText(text, BUTTON_CHARACTERS), url };
    return [text === 'Acknowledge' ? { ...button, style: 'primary' } : button];
  });
  return elements.length === 0 ? [] : [{ type: 'actions', elements }];
}

function context(texts: readonly (string | null)[]): object {
  const elements = texts.flatMap((text) => (text === null ? [] : [plainText(text, CONTEXT_CHARACTERS)]));
  return { type: 'context', elements };
}

function itemSections(items: readonly string[]): object[] {
  const texts: string[] = [];
  let room = 0;
  let shown = 0;
  for (const item of items) {
    const length = escaped(item, SECTION_CHARACTERS).length + 1;
    if (length > room && texts.length === ITEM_SECTIONS) break;
    if (length > room) {
      texts.push(item);
      room = SECTION_CHARACTERS - 1 - length;
    } else {
      texts.push(`${texts.pop()}\n${item}`);
      room -= length;
    }
    shown += 1;
  }
  if (shown < items.length) texts.push(moreAlertsLine(items.length - shown));
  return texts.map(sectionBlock);
}

function plainText(text: string, most: number): object {
  return { type: 'plain_text', text: escaped(text, most), emoji: false };
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Escapes Slack's three special characters and cuts the text to at most `most` escaped characters. */
function escaped(text: string, most: number): string {
  let out = '';
  for (const character of text) {
    const next = ESCAPES[character] ?? character;
    if (out.length + next.length > most - 1) return `${out}…`;
    out += next;
  }
  return out;
}
