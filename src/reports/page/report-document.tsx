import type { ComponentChildren } from 'preact';
import { renderDocument } from '../../look/document.ts';
import { documentStyle } from '../../look/style-sheets.ts';
import type { ReportCharts } from './draw-charts.ts';
import type { PageData } from './page-data.ts';
import { WorkspaceReport, workspaceTitle } from './workspace-report.tsx';

/**
 * Renders an HTML document with a title above the content. The document needs no other files and contains no scripts.
 */
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

/**
 * Renders the report of a workspace as an HTML document that needs no other files. The result depends only on the
 * arguments.
 */
export function workspaceDocument(data: PageData, charts: ReportCharts): string {
  return reportDocument(workspaceTitle(data), <WorkspaceReport data={data} charts={charts} links={null} />);
}
