import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { addPeriods } from '../../core/period.ts';
import { COLOURS, FONTS, RADIUS_PX, TEXT_SIZES } from '../../look/tokens.ts';
import { ratesOfDays } from '../messages/daily-usage.ts';
import type { Facts } from '../messages/facts/facts.ts';
import { grouped, monthName } from '../messages/facts/names.ts';
import type { Message, MessageKind } from '../messages/message.ts';

type ColourName = keyof typeof COLOURS;

/** The colours of a kind of message: of its text and of the badge behind it. */
const KIND_COLOURS: Readonly<Record<MessageKind, readonly [text: ColourName, badge: ColourName]>> = {
  critical: ['bad', 'bad-soft'],
  warning: ['odd', 'odd-soft'],
  closed: ['good', 'good-soft'],
  summary: ['quiet', 'raised'],
  test: ['quiet', 'raised'],
};

const light = (name: ColourName): string => COLOURS[name].light;
const dark = (name: ColourName): string => COLOURS[name].dark;

/** Most mail programs drop style sheets, so each element carries its own style. Names of any length break to fit a phone. */
const MAIL_STYLES = {
  body: `margin:0;background:${light('page')};color:${light('ink')};font:${TEXT_SIZES.body}px/1.5 ${FONTS};overflow-wrap:anywhere`,
  frame: `width:100%;background:${light('page')}`,
  outside: 'padding:16px 8px',
  card: `width:100%;max-width:600px;table-layout:fixed;background:${light('surface')};border:1px solid ${light('line')};border-radius:${RADIUS_PX}px;border-collapse:separate`,
  inside: `padding:20px;color:${light('ink')};font:${TEXT_SIZES.body}px/1.5 ${FONTS};overflow-wrap:anywhere;word-break:break-word`,
  title: `margin:10px 0 8px;font-size:${TEXT_SIZES.large}px;line-height:1.35;font-weight:bold`,
  line: 'margin:0 0 4px',
  list: 'margin:8px 0;padding-left:20px',
  acknowledge: `display:inline-block;margin:12px 8px 4px 0;padding:10px 16px;border-radius:6px;background:${light('accent')};color:${light('on-accent')};text-decoration:none`,
  open: `display:inline-block;margin:12px 8px 4px 0;padding:9px 15px;border-radius:6px;border:1px solid ${light('accent')};color:${light('accent')};text-decoration:none`,
  foot: `margin:16px 0 0;padding-top:12px;border-top:1px solid ${light('line')};color:${light('quiet')};font-size:${TEXT_SIZES.small}px`,
  command: `font:${TEXT_SIZES.small}px monospace`,
  chart: 'margin-top:12px;width:100%;border-collapse:collapse;table-layout:fixed',
  label: `font-size:${TEXT_SIZES.small}px;color:${light('quiet')};padding:8px 0 2px`,
  cell: 'padding:0 1px 0 0;vertical-align:bottom',
} as const;

/** Colours on a dark background, for mail programs that read style sheets. */
const DARK_STYLES = `:root{color-scheme:light dark}@media(prefers-color-scheme:dark){${[
  rule('body,.frame', `background:${dark('page')};color:${dark('ink')}`),
  rule('.card', `background:${dark('surface')};border-color:${dark('line')}`),
  rule('.inside', `color:${dark('ink')}`),
  rule('.foot', `color:${dark('quiet')};border-color:${dark('line')}`),
  rule('.label', `color:${dark('quiet')}`),
  ...Object.entries(KIND_COLOURS).map(([kind, [text, badge]]) =>
    rule(`.${kind}`, `color:${dark(text)};background:${dark(badge)}`),
  ),
  rule('.acknowledge', `background:${dark('accent')};color:${dark('on-accent')}`),
  rule('.open', `color:${dark('accent')};border-color:${dark('accent')}`),
  rule('.now', `background:${dark('accent')}`),
  rule('.before', `background:${dark('quiet')}`),
].join('')}}`;

/** Writes a rule that counts more than the style of an element. */
function rule(selector: string, declarations: string): string {
  return `${selector}{${declarations.replaceAll(';', '!important;')}!important}`;
}

/** The texts of a mail. They contain no active characters and no working links. */
interface MailParts {
  kind: MessageKind;
  tag: string;
  title: string;
  lines: readonly string[];
  items: readonly string[];
  links: Message['links'];
  alert: Facts | null;
  foot: readonly string[];
  /** The line of the foot that is a command; null without one. */
  command: string | null;
}

/** Renders the HTML of a mail. It loads nothing. */
export function emailHtml(parts: MailParts): string {
  return `<!doctype html>\n${renderToString(<Mail {...parts} />)}\n`;
}

function Mail({ kind, tag, title, lines, items, links, alert, foot, command }: MailParts) {
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>{title}</title>
        <style dangerouslySetInnerHTML={{ __html: DARK_STYLES }} />
      </head>
      <body style={MAIL_STYLES.body}>
        <Frame>
          <span class={kind} style={badgeStyle(kind)}>
            {tag}
          </span>
          <h1 style={MAIL_STYLES.title}>
            <bdi>{title}</bdi>
          </h1>
          {lines.map((line, at) => (
            <p key={at} style={MAIL_STYLES.line}>
              <bdi>{line}</bdi>
            </p>
          ))}
          {items.length === 0 ? null : <Items items={items} />}
          <Links links={links} />
          <DailyChart alert={alert} />
          <p class="foot" style={MAIL_STYLES.foot}>
            {foot.map((line, at) => (
              <FootLine key={at} line={line} isFirst={at === 0} isCommand={line === command} />
            ))}
          </p>
        </Frame>
      </body>
    </html>
  );
}

function badgeStyle(kind: MessageKind): string {
  const [text, badge] = KIND_COLOURS[kind];
  return `display:inline-block;padding:2px 9px;border-radius:99px;background:${light(badge)};color:${light(text)};font-size:${TEXT_SIZES.small}px;font-weight:bold`;
}

/** A card in the middle of the page: tables, because some mail programs know no width of other elements. */
function Frame({ children }: { children: ComponentChildren }) {
  return (
    <table class="frame" role="presentation" cellSpacing="0" cellPadding="0" style={MAIL_STYLES.frame}>
      <tr>
        <td align="center" style={MAIL_STYLES.outside}>
          <table class="card" role="presentation" cellSpacing="0" cellPadding="0" style={MAIL_STYLES.card}>
            <tr>
              <td class="inside" align="left" style={MAIL_STYLES.inside}>
                {children}
              </td>
            </tr>
          </table>
        </td>
      </tr>
    </table>
  );
}

function Items({ items }: Pick<MailParts, 'items'>) {
  return (
    <ul style={MAIL_STYLES.list}>
      {items.map((item, at) => (
        <li key={at}>
          <bdi>{item}</bdi>
        </li>
      ))}
    </ul>
  );
}

function Links({ links: { acknowledge, open } }: Pick<MailParts, 'links'>) {
  return (
    <>
      {acknowledge === null ? null : (
        <a class="acknowledge" style={MAIL_STYLES.acknowledge} href={acknowledge}>
          Acknowledge
        </a>
      )}
      {open === null ? null : (
        <a class="open" style={MAIL_STYLES.open} href={open}>
          Open alert
        </a>
      )}
    </>
  );
}

function FootLine({ line, isFirst, isCommand }: { line: string; isFirst: boolean; isCommand: boolean }) {
  const text = <bdi>{line}</bdi>;
  return (
    <>
      {isFirst ? null : <br />}
      {isCommand ? <code style={MAIL_STYLES.command}>{text}</code> : text}
    </>
  );
}

const BAR_HEIGHT = 60;
const DAYS = 31;

/**
 * The credits of each day of both months as table cells, for mail programs that show no pictures. A month without any
 * known day is left out; nothing is shown if both are.
 */
export function DailyChart({ alert }: { alert: Facts | null }) {
  const usage = alert?.evidence.daily_usage ?? null;
  if (alert === null || alert.period === null || usage === null) return null;
  const { period, created_at } = alert;
  const months = [
    { month: addPeriods(period, -1), rates: ratesOfDays(usage.days.previous), bar: 'before', colour: light('quiet') },
    { month: period, rates: ratesOfDays(usage.days.current), bar: 'now', colour: light('accent') },
  ].filter(({ rates }) => rates.some((rate) => rate !== null));
  const most = Math.max(...months.flatMap(({ rates }) => rates.map((rate) => rate ?? 0)), 0);
  if (most <= 0) return null;
  return (
    <table role="presentation" cellSpacing="0" style={MAIL_STYLES.chart}>
      {months.map(({ month, rates, bar, colour }, at) => (
        <>
          <tr>
            <td class="label" colSpan={DAYS} style={MAIL_STYLES.label}>
              {`${monthName(month, created_at)}, credits a day`}
              {at === months.length - 1 ? ` (the highest bar is ${grouped(Math.round(most))})` : ''}
            </td>
          </tr>
          <tr style={`height:${BAR_HEIGHT}px`}>
            {Array.from({ length: DAYS }, (_, day) => (
              <td key={day} style={MAIL_STYLES.cell} width="3%">
                <Bar
                  height={Math.round((Math.max(0, rates[day] ?? 0) / most) * BAR_HEIGHT)}
                  name={bar}
                  colour={colour}
                />
              </td>
            ))}
          </tr>
        </>
      ))}
    </table>
  );
}

function Bar({ height, name, colour }: { height: number; name: string; colour: string }) {
  if (height === 0) return null;
  return (
    <div class={name} style={`height:${height}px;background:${colour};font-size:0`}>
      {'\u00a0'}
    </div>
  );
}
