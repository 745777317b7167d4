import { type ChangeCase, firstValue, writeTo } from './change-case.ts';

const ALERT = "SELECT alert_id FROM finance_alerts WHERE tenant_id = 'acme' LIMIT 1";
const SILENCE = 'SELECT silence_id FROM silences ORDER BY silence_key LIMIT 1';
const LAST_SILENCE = 'SELECT created_by FROM silences ORDER BY silence_key DESC LIMIT 1';
const DEAD = "UPDATE deliveries SET state = 'dead', due_at = NULL, last_error = 'HTTP 404'";
const UNTIL = '2026-06-08';

export const CHANGES_OF_ALERTS: Readonly<Record<string, ChangeCase>> = {
  'alerts.acknowledge': {
    input: (world) => ({ alert_id: firstValue(world, ALERT), note: 'a load test' }),
    argv: (world) => ['alerts', 'ack', firstValue(world, ALERT), '--note', 'a load test'],
    actors: "SELECT actor FROM alert_transitions WHERE change = 'acknowledged'",
  },
  'alerts.label': {
    input: (world) => ({ alert_id: firstValue(world, ALERT), label: 'expected' }),
    argv: (world) => ['alerts', 'feedback', firstValue(world, ALERT), 'expected'],
    actors: 'SELECT actor FROM alert_feedback',
  },
  'silences.add': {
    input: () => ({ tenant: 'acme', hours: '22:00-06:00', until: UNTIL, reason: 'nights' }),
    argv: () => [
      ...['alerts', 'silence', '--tenant', 'acme', '--hours', '22:00-06:00', '--until', UNTIL],
      ...['--reason', 'nights'],
    ],
    actors: LAST_SILENCE,
  },
  'plans.add': {
    input: (world) => ({ alert_id: firstValue(world, ALERT), up_to: 90_000, until: UNTIL, reason: 'launch' }),
    argv: (world) => [
      ...['alerts', 'plan', '--alert', firstValue(world, ALERT), '--up-to', '90000', '--until', UNTIL],
      ...['--reason', 'launch'],
    ],
    actors: LAST_SILENCE,
  },
  'silences.end': {
    input: (world) => ({ silence_id: firstValue(world, SILENCE) }),
    argv: (world) => ['alerts', 'unsilence', firstValue(world, SILENCE)],
    actors: 'SELECT ended_by FROM silences',
  },
  'messages.replay': {
    given: ({ ledgerPath }) => writeTo(ledgerPath, DEAD),
    input: () => ({ all: true }),
    argv: () => ['alerts', 'replay', '--all-dead'],
    actors: null,
    withoutBy: true,
    changesWhenRepeated: true,
  },
  'channels.test': {
    input: () => ({ channel: 'log' }),
    argv: () => ['alerts', 'test', 'log'],
    actors: null,
    withoutBy: true,
    changesWhenRepeated: true,
  },
};
