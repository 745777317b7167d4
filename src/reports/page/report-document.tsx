import { readFileSync } from 'node:fs';
import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { packageFile } from '../../core/process/package-file.ts';
import { inertText } from '../../core/text/inert-text.ts';
import type { ReportCharts } from './draw-charts.ts';
import type { PageData } from './page-data.ts';
import { WorkspaceReport, workspaceTitle } from './workspace-report.tsx';

/** The policy of a document that is one file: its own style, and nothing from elsewhere. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/**
 * Renders a document of its own: one file with the style sheet of the console, without scripts or external resources.
 * Characters that a browser would act on become visible escapes.
 */
export function reportDocument(title: string, content: ComponentChildren): string {
  const style = readFileSync(packageFile('dist', 'console.css'), 'utf8');
  const document = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta http-equiv="Content-Security-Policy" content={POLICY} />
        <title>{title}</title>
        <style dangerouslySetInnerHTML={{ __html: style }} />
      </head>
      <body>
        <main>
          <div class="head">
            <h1>{title}</h1>
          </div>
          {content}
        </main>
      </body>
    </html>
  );
  const [head = '', body = ''] = renderToString(document).split('</style>', 2);
  // The style sheet has line breaks, which are no text of the page.
  return `<!doctype html>${head}</style>${inertText(body)}\n`;
}

/** Renders the report of a workspace as a document of its own. It depends on the arguments only. */
export function workspaceDocument(data: PageData, charts: ReportCharts): string {
  return reportDocument(workspaceTitle(data), <WorkspaceReport data={data} charts={charts} links={null} />);
}
