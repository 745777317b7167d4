// cspell:ignore mred

/** Names that try to act on what shows them: line breaks, terminal codes, markup, mentions, links, direction. */
export const HOSTILE_NAMES = [
  'acme\r\nBcc: victim@example.com\r\n\r\nFAKE',
  '\u001b[31mred\u001b]0;title\u0007\u009b2J',
  '<!channel> <!here> <!everyone> <@U123> <https://evil.example|click>',
  '@channel @here *bold* _it_ ~x~ `code` :fire:',
  '<script>alert(1)</script><img src=x onerror=alert(1)>"\'&amp;',
  '\u202egnp.exe\u2066\u2069\u200f\u200e\u061c',
  'https://evil.example/pay www.evil.example mailto:x@evil.example javascript://%0a',
  '=?utf-8?q?=0d=0aBcc:_victim@example.com?=',
  '{{constructor}} #{7*7} %s %n \\',
  '\u2028\u2029\u0085\u0000\u200b\ufeff\u{e0041}',
] as const;

/** Characters that act instead of being shown. A line feed may stand between lines that we have made ourselves. */
export const ACTIVE = /(?!\n)[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;
