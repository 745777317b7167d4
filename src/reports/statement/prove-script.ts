/**
 * What a tenant's page runs in its reader's browser: WebCrypto alone, no network. It makes what the sheet must show from the leaf
 * that the close has committed to, and compares that with what the sheet shows, to the last character.
 */
export const PROVE_SCRIPT = `'use strict';
const byId = (id) => document.getElementById(id);
const own = JSON.parse(byId('proof').textContent);
const bytes = (text) => new TextEncoder().encode(text);
const fromHex = (hex) => Uint8Array.from(hex.match(/../g) || [], (pair) => parseInt(pair, 16));
const toHex = (data) => Array.from(data, (byte) => byte.toString(16).padStart(2, '0')).join('');
const joined = (...parts) => Uint8Array.from(parts.flatMap((part) => Array.from(part)));
const sha256 = async (data) => new Uint8Array(await crypto.subtle.digest('SHA-256', data));

const DECIMALS = {
  0: 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF',
  3: 'BHD IQD JOD KWD LYD OMR TND',
  4: 'CLF UYW',
};
const shown = (text) =>
  text.replace(/[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]/gu, (sign) => {
    const hex = sign.codePointAt(0).toString(16);
    return hex.length > 4 ? '\\\\u{' + hex + '}' : '\\\\u' + hex.padStart(4, '0');
  });
const grouped = (digits) => digits.replace(/^(-?)(\\d+)/, (_, sign, whole) => sign + whole.replace(/\\B(?=(\\d{3})+$)/g, ','));
function money(minor, currency) {
  const digits = Number(Object.keys(DECIMALS).find((count) => DECIMALS[count].split(' ').includes(currency)) ?? 2);
  const text = minor.replace('-', '').padStart(digits + 1, '0');
  const plain = digits === 0 ? text : text.slice(0, -digits) + '.' + text.slice(-digits);
  return grouped((minor.startsWith('-') ? '-' : '') + plain) + ' ' + currency;
}

/** What a line is for, as the sheet says it. */
function lineWords([kind, tier, credits, , , minor, , , corrects]) {
  if (kind === 'correction') return 'correction of ' + corrects + (minor === null ? ', not priced' : '');
  if (kind !== 'usage') return kind;
  if (tier === '0') return credits !== null && credits.startsWith('-') ? 'below 0, priced as 0' : 'included';
  return 'usage, tier ' + tier;
}
function priceWords([, , , unitCredits, unitPrice]) {
  if (unitPrice === null) return '';
  return grouped(unitPrice) + (unitCredits === null || unitCredits === '1' ? '' : ' / ' + grouped(unitCredits));
}

/** Every text of the sheet, in its order, from the leaf and the line of the close. */
function sheetOf([tenant, name, reference, credits, requests, lines], [, , , workspace, period, at], digest) {
  const texts = ['Statement ' + shown(period) + ', ' + shown(tenant), shown(name ?? tenant)];
  texts.push(shown(tenant) + (reference === null ? '' : ', ' + shown(reference)) + ', workspace ' + shown(workspace));
  texts.push(shown(period) + ': closed', grouped(credits) + ' credits in ' + grouped(requests) + ' requests');
  texts.push('Line', 'Credits', 'Price', 'Amount');
  if (lines.length === 0) texts.push('not priced');
  const sums = new Map();
  for (const line of lines) {
    const [, , sold, , , minor, currency, card] = line;
    texts.push(lineWords(line) + shown(card ?? ''), sold === null ? '' : grouped(sold), priceWords(line));
    texts.push(minor === null ? '' : money(minor, currency));
    if (minor !== null) sums.set(currency, (sums.get(currency) ?? 0n) + BigInt(minor));
  }
  for (const [currency, sum] of [...sums].sort(([a], [b]) => (a < b ? -1 : 1))) texts.push('Total', money(String(sum), currency));
  texts.push('As of ' + shown(at), 'Close digest ' + digest);
  return texts;
}
const SHEET = ['title', ...['h1', 'p', 'th', 'td'].map((name) => 'main > section ' + name)].join();
const seen = () => Array.from(document.querySelectorAll(SHEET), (one) => one.textContent);

class Refused extends Error {}
let steps = [];
function step(words, detail) {
  const item = document.createElement('li');
  steps.push(item);
  item.append(words);
  if (detail !== undefined) item.appendChild(document.createElement('pre')).textContent = detail;
}
function demand(holds, words, detail) {
  step((holds ? 'Yes: ' : 'NO: ') + words, detail);
  if (!holds) throw new Refused(words);
}

async function prove(kept) {
  const { close, tenant: { index, leaf, path } } = own;
  demand(/^[0-9a-f]{64}$/.test(kept), 'what you entered is a digest: 64 digits from 0 to f', kept);
  const digest = toHex(await sha256(bytes(close + '\\n')));
  demand(digest === kept, 'SHA-256 of the line of the close is the digest that you were told', close + '\\n' + digest);
  const line = JSON.parse(close);
  demand(line.length === 8 && line[2] === 'close', 'the line is that of a close, of period ' + line[4]);
  let found = await sha256(bytes('\\0' + leaf));
  step('Your part of what was closed, and its SHA-256 behind a byte 00:', leaf + '\\n' + toHex(found));
  let side = index;
  const way = [];
  for (const hash of path) {
    found = await sha256(side % 2 === 1 ? joined([1], fromHex(hash), found) : joined([1], found, fromHex(hash)));
    way.push((side % 2 === 1 ? 'behind ' : 'before ') + hash + ': ' + toHex(found));
    side = Math.floor(side / 2);
  }
  step('Hashed ' + path.length + ' times with what stands beside it, each time behind a byte 01:', way.join('\\n'));
  demand(side === 0 && toHex(found) === line[7], 'this ends at the root that stands in the line of the close', line[7]);
  const [tag, , ...told] = JSON.parse(leaf);
  demand(tag === 'usage-ledger/tenant/2' && told.length === 6, 'your part is the statement of one tenant');
  const expected = sheetOf(told, line, digest);
  const sheet = seen();
  const at = expected.findIndex((text, place) => text !== sheet[place]);
  const differs = at >= 0 || sheet.length !== expected.length;
  demand(!differs, 'the sheet above says what your part says, to the last digit',
    differs ? 'shown: ' + sheet[at < 0 ? expected.length : at] + '\\nclosed: ' + (expected[at] ?? 'nothing more') : undefined);
}

let last = Promise.resolve();
async function check() {
  const kept = byId('digest').value.trim().toLowerCase();
  steps = [];
  let [words, name] = ['Not checked: no digest was entered.', ''];
  try {
    if (kept !== '') {
      await prove(kept);
      [words, name] = ['Authentic: this bill says what was closed.', 'proven'];
    }
  } catch (error) {
    [words, name] = ['NOT authentic: ' + (error instanceof Refused ? 'it is not so that ' + error.message : 'parts of it are missing') + '.', 'refused'];
  }
  byId('steps').replaceChildren(...steps);
  byId('verdict').textContent = words;
  byId('verdict').className = name;
}
byId('digest').addEventListener('input', () => {
  last = last.then(check);
});
`;
