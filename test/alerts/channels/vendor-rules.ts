// cspell:ignore extralarge

/**
 * What the vendors document about messages that they accept, written down from their references: Slack's Block Kit and its
 * attachments, the Adaptive Cards schema 1.4 with the limits of Teams, and PagerDuty's Events API v2.
 */

// biome-ignore lint/suspicious/noExplicitAny: a body of any shape is judged
type Json = any;

const fault = (holds: boolean, what: string): string[] => (holds ? [] : [what]);
const isText = (value: Json, most: number): boolean =>
  typeof value === 'string' && value.length > 0 && value.length <= most;

/** Returns what Slack would refuse in a message. */
export function slackFaults(body: Json): string[] {
  const { text, blocks = [], attachments = [] } = body;
  const all = [...blocks, ...attachments.flatMap((each: Json) => each.blocks ?? [])];
  return [
    ...fault(isText(text, 4000), 'text'),
    ...fault(all.length <= 50, `${all.length} blocks`),
    ...fault(attachments.length <= 20, 'attachments'),
    ...attachments.flatMap(({ color }: Json) =>
      fault(/^(good|warning|danger|#[0-9a-f]{6})$/.test(color), `color ${color}`),
    ),
    ...all.flatMap(blockFaults),
  ];
}

function plainFaults(text: Json, most: number, where: string): string[] {
  const isPlain = text?.type === 'plain_text' && typeof text.emoji === 'boolean';
  return [
    ...fault(isPlain && isText(text.text, most), `${where} of ${text?.text?.length} characters`),
    ...fault(/^(?:[^&<>]|&(?:amp|lt|gt);)*$/u.test(text?.text ?? ''), `${where} is not escaped`),
  ];
}

function blockFaults(block: Json): string[] {
  switch (block.type) {
    case 'header':
      return plainFaults(block.text, 150, 'header');
    case 'section':
      return plainFaults(block.text, 3000, 'section');
    case 'context':
      return [
        ...fault(block.elements.length >= 1 && block.elements.length <= 10, 'elements of a context'),
        ...block.elements.flatMap((text: Json) => plainFaults(text, 2000, 'context')),
      ];
    case 'actions':
      return [
        ...fault(block.elements.length >= 1 && block.elements.length <= 25, 'elements of actions'),
        ...block.elements.flatMap(({ type, text, url, style = 'primary' }: Json) => [
          ...fault(type === 'button' && ['primary', 'danger'].includes(style), `${type} ${style}`),
          ...plainFaults(text, 75, 'button'),
          ...fault(isText(url, 3000), 'address of a button'),
        ]),
      ];
    default:
      return [`block ${block.type}`];
  }
}

/** Teams counts up to half as much again as is sent, and takes 28 KB. */
export const LARGEST_TEAMS_BYTES = 18_000;

/** Properties of the elements of Adaptive Cards 1.4 that a card without markup needs, with their values. */
const CARD: Record<string, Record<string, (value: Json) => boolean>> = {
  Container: {
    style: (value) => ['default', 'emphasis', 'good', 'attention', 'warning', 'accent'].includes(value),
    bleed: (value) => typeof value === 'boolean',
    items: (value) => Array.isArray(value),
  },
  RichTextBlock: { inlines: (value) => Array.isArray(value) && value.length > 0 },
  TextRun: {
    text: (value) => typeof value === 'string',
    weight: (value) => ['lighter', 'default', 'bolder'].includes(value.toLowerCase()),
    size: (value) => ['small', 'default', 'medium', 'large', 'extralarge'].includes(value.toLowerCase()),
    fontType: (value) => ['default', 'monospace'].includes(value.toLowerCase()),
    isSubtle: (value) => typeof value === 'boolean',
  },
  'Action.OpenUrl': { title: (value) => typeof value === 'string', url: (value) => URL.canParse(value) },
};

/** Returns what Teams would refuse in a message. */
export function teamsFaults(body: Json): string[] {
  const { contentType, content: card } = body.attachments[0];
  const { type, version, body: elements, actions, $schema, msteams, ...others } = card;
  return [
    ...fault(Buffer.byteLength(JSON.stringify(body)) <= LARGEST_TEAMS_BYTES, 'bytes'),
    ...fault(body.type === 'message' && contentType === 'application/vnd.microsoft.card.adaptive', 'message'),
    ...fault(type === 'AdaptiveCard' && version === '1.4' && $schema.endsWith('adaptive-card.json'), 'card'),
    ...fault(msteams.width === 'Full' && Object.keys(others).length === 0, `card with ${Object.keys(others)}`),
    ...fault(actions.length <= 6, 'actions'),
    ...[...elements, ...actions].flatMap(elementFaults),
  ];
}

function elementFaults({ type, ...properties }: Json): string[] {
  const known = CARD[type];
  if (known === undefined) return [`element ${type}`];
  const within = [...(properties.items ?? []), ...(properties.inlines ?? [])];
  return [
    ...Object.entries(properties).flatMap(([name, value]) => fault(known[name]?.(value) === true, `${type}.${name}`)),
    ...within.flatMap(elementFaults),
  ];
}

/** Returns what PagerDuty would refuse in an event. */
export function pagerdutyFaults(event: Json): string[] {
  const { routing_key, event_action, dedup_key, payload, links = [] } = event;
  const isTrigger = event_action === 'trigger';
  return [
    ...fault(Buffer.byteLength(JSON.stringify(event)) <= 512 * 1024, 'bytes'),
    ...fault(routing_key.length === 32, 'routing_key'),
    ...fault(['trigger', 'acknowledge', 'resolve'].includes(event_action), 'event_action'),
    ...fault(isText(dedup_key, 255), 'dedup_key'),
    ...(isTrigger ? fault(isText(payload.summary, 1024), `summary of ${payload.summary.length}`) : []),
    ...(isTrigger ? fault(isText(payload.source, 1024 * 1024), 'source') : []),
    ...(isTrigger ? fault(['critical', 'error', 'warning', 'info'].includes(payload.severity), 'severity') : []),
    ...links.flatMap(({ href, text }: Json) => fault(URL.canParse(href) && isText(text, 1024), 'link')),
  ];
}
