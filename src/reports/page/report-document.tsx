import type { ComponentChildren } from 'preact';
import { renderDocument } from '../../look/document.ts';
import { documentStyle } from '../../look/style-sheets.ts';
import type { ReportCharts } from './draw-charts.ts';
import type { PageData } from './page-data.ts';
import { WorkspaceReport, workspaceTitle } from './workspace-report.tsx';

/** Renders a document that is one file, with a title above its content. It has no scripts or external resources. */
export function reportDocument(title: string, content: ComponentChildren): string {
  return renderDocument(
    { title, style: documentStyle('report') },
    <>
      <div class="head">
        <h1>{title}</h1>
      </div>
      {content}
    </>,
  );
}

/** Renders the report of a workspace as a document of its own. It depends on the arguments only. */
export function workspaceDocument(data: PageData, charts: ReportCharts): string {
  return reportDocument(workspaceTitle(data), <WorkspaceReport data={data} charts={charts} links={null} />);
}
