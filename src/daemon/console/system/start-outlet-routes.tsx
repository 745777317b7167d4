import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../../../core/errors.ts';
import { periodAt } from '../../../core/period.ts';
import { hasRole } from '../../../core/text/roles.ts';
import type { Scope } from '../../../operations/operation.ts';
import { chooseOutlet } from '../../../operations/outlets/chosen-outlets.ts';
import { startOutlet } from '../../../operations/outlets/start-outlet.ts';
import { ApiError } from '../../api/problem.ts';
import type { ConsolePages } from '../console-pages.ts';
import { answerForm } from '../shell/change.ts';
import { faultText } from '../shell/fault-text.ts';
import { linkTo, monthName } from '../shell/formats.ts';
import { textOf } from '../shell/query.ts';
import { sendPage } from '../shell/render-page.ts';
import { fieldsOf } from '../sign-in/form-guard.ts';
import { START_FORM, StartOutletPage, startPath } from './start-outlet-page.tsx';

const ROUTE = '/system/outlets/:outlet/start';

/** Serves the page that shows what an outlet would send, and the form that starts it. */
export function addStartOutlet(app: FastifyInstance, pages: ConsolePages): void {
  const { visitOf, scopeOf, context } = pages;
  app.get(ROUTE, async (request, reply) => {
    const visit = visitOf(request);
    if (!hasRole(visit.caller.role, startOutlet.role)) {
      throw new ApiError(403, 'forbidden', `starting an outlet needs the role ${startOutlet.role}`, {
        hint: `sign in with the role ${startOutlet.role}`,
      });
    }
    const name = outletOf(request);
    const { customer, fromPeriod } = chooseOutlet(context.config, name);
    const from = textOf(request, 'from') ?? fromPeriod ?? '';
    const page = { visit, name, customer, from, openMonth: periodAt(context.clock.now()) };
    const preview = from === '' ? null : await previewOf(scopeOf(request), { name, from });
    return sendPage(reply, <StartOutletPage {...page} preview={preview} />);
  });
  app.post(ROUTE, { config: { access: 'form', role: startOutlet.role } }, (request, reply) => {
    const name = outletOf(request);
    const from = fieldsOf(request).get('from') ?? '';
    const back = linkTo(startPath(name), { from });
    return answerForm({ request, reply, pages, form: START_FORM, back }, async ({ session, run }) => {
      const { document } = await run(startOutlet, { name, from, dry_run: false });
      session.notice = { kind: 'good', text: `${name} is sending usage from ${monthName(document.from_period)} on.` };
      return { next: '/system' };
    });
  });
}

async function previewOf(scope: Scope, wanted: { name: string; from: string }) {
  const input = startOutlet.input.safeParse(wanted);
  if (!input.success) return { refused: `${JSON.stringify(wanted.from)} is not a month. Write it as YYYY-MM.` };
  try {
    return (await startOutlet.run(scope, input.data)).document;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { refused: scope.context.redact(faultText(error)) };
  }
}

function outletOf({ params }: FastifyRequest): string {
  return (params as { outlet: string }).outlet;
}
