import { z } from 'zod';
import { actorText, changeOperation } from '../operation.ts';
import { idText } from '../schemas.ts';

export const endSilence = changeOperation({
  name: 'silences.end',
  summary: 'End a silence or an announced plan before its time',
  role: 'operate',
  input: z.strictObject({ silence_id: idText.describe('the silence or plan') }),
  output: z.strictObject({ silence_id: z.string(), ended_by: z.string() }),
  http: { method: 'POST', path: '/silences/{silence_id}/end' },
  command: 'alerts unsilence',
  async run({ context, actor }, { silence_id: silenceId }) {
    const writer = await context.existingWriter();
    const by = actorText(actor);
    await writer.endSilence({ silenceId, by, nowMs: context.clock.now() });
    return { applied: true, document: { silence_id: silenceId, ended_by: by }, notes: [] };
  },
});
