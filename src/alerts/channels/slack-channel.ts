import type { SlackConfig } from '../../config/channel-types.ts';
import { readSlackBody } from './accepted-bodies.ts';
import type { Channel } from './channel.ts';
import { MESSAGE_LINES, type MessageView, tailLine } from './message-view.ts';
import { createViewChannel } from './view-channel.ts';
import type { HttpChannelDeps } from './webhook-channel.ts';

/** Slack's limits: characters of a header, a section, a field and an address, and fields of a section. */
const HEADER_CHARACTERS = 150;
const SECTION_CHARACTERS = 3000;
const FIELD_CHARACTERS = 2000;
const FIELDS_IN_SECTION = 10;
const ADDRESS_CHARACTERS = 3000;
/** Slack takes 50 blocks; header, summary, link, commands and id take five. */
const FIELD_SECTIONS = 6;
/** Lines of a digest or group; one more block counts the remaining alerts. */
const LINE_SECTIONS = 42;

/**
 * Posts each notification to an incoming webhook of Slack, as blocks of plain text without markup, links or mentions. An
 * archived or removed channel answers 410 and is disabled like any receiver. Throws `channel_url_refused`.
 */
export function createSlackChannel(config: Omit<SlackConfig, 'type'>, deps: HttpChannelDeps): Channel {
  return createViewChannel(config, deps, { type: 'slack', bodyOf: slackMessage, readBody: readSlackBody });
}

/** Builds the body for Slack. `text` is shown in a phone's notification; the blocks are the message. */
function slackMessage(view: MessageView, notificationId: string): object {
  const { mark, summary, facts, lines, next, head, link, acknowledgeLink } = view;
  const fields = facts.map(({ label, value }) => plainText(`${label}\n${value}`, FIELD_CHARACTERS));
  const sections = [];
  for (let from = 0; from < fields.length && sections.length < FIELD_SECTIONS; from += FIELDS_IN_SECTION) {
    sections.push({ type: 'section', fields: fields.slice(from, from + FIELDS_IN_SECTION) });
  }
  return {
    text: escaped(`${mark}: ${summary}`, SECTION_CHARACTERS),
    mrkdwn: false,
    parse: 'none',
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: [
      { type: 'header', text: plainText(`usage-ledger: ${mark}`, HEADER_CHARACTERS) },
      { type: 'section', text: plainText(summary, SECTION_CHARACTERS) },
      ...sections,
      ...lineSections(lines),
      ...linkBlocks({ 'Open the page': link, Acknowledge: acknowledgeLink }),
      ...(next.length === 0 ? [] : [{ type: 'section', text: plainText(nextWords(next), SECTION_CHARACTERS) }]),
      { type: 'context', elements: [notificationId, ...(head === null ? [] : [head])].map(contextText) },
    ],
  };
}

/** Links are buttons: nothing in a text becomes a link. */
function linkBlocks(links: Record<string, string | null>): object[] {
  const elements = Object.entries(links).flatMap(([text, url]) =>
    url === null || url.length > ADDRESS_CHARACTERS ? [] : [{ type: 'button', text: plainText(text, 75), url }],
  );
  return elements.length === 0 ? [] : [{ type: 'actions', elements }];
}

function contextText(text: string): object {
  return plainText(text, FIELD_CHARACTERS);
}

function nextWords(next: readonly string[]): string {
  return ['Next:', ...next].join('\n');
}

function lineSections(lines: readonly string[]): object[] {
  const texts: string[] = [];
  let room = 0;
  let shown = 0;
  for (const line of lines.slice(0, MESSAGE_LINES)) {
    const length = escaped(line, SECTION_CHARACTERS).length + 1;
    if (length > room && texts.length === LINE_SECTIONS) break;
    if (length > room) {
      texts.push(line);
      room = SECTION_CHARACTERS - 1 - length;
    } else {
      texts.push(`${texts.pop()}\n${line}`);
      room -= length;
    }
    shown += 1;
  }
  if (shown < lines.length) texts.push(tailLine(lines.length - shown));
  return texts.map((text) => ({ type: 'section', text: plainText(text, SECTION_CHARACTERS) }));
}

function plainText(text: string, most: number): object {
  return { type: 'plain_text', text: escaped(text, most), emoji: false };
}

const ESCAPES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Escapes Slack's three special characters. The limit counts the escaped text; no escape is split. */
function escaped(text: string, most: number): string {
  let out = '';
  for (const character of text) {
    const next = ESCAPES[character] ?? character;
    if (out.length + next.length > most - 1) return `${out}…`;
    out += next;
  }
  return out;
}
