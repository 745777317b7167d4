import { type Resource, ResourceNotFoundError, type TextResourceContents } from '@modelcontextprotocol/server';
import { VIEW_COLUMNS } from '../../ledger/store/schema/view-columns/view-columns.ts';

const PREFIX = 'ledger://views/';
const RESOURCE_TYPE = 'text/markdown';

/**
 * The `finance_*` views of the ledger as MCP resources. Each resource describes what a row of the view and its columns
 * mean.
 */
export const VIEW_RESOURCES: readonly Resource[] = Object.entries(VIEW_COLUMNS).map(([view, { row }]) => {
  const name = shortName(view);
  return { uri: `${PREFIX}${name}`, name, title: view, description: plain(row), mimeType: RESOURCE_TYPE };
});

/**
 * Returns the description of a view and its columns as Markdown. Throws ResourceNotFoundError if `uri` is not that of a
 * view.
 */
export function readViewResource(uri: string): TextResourceContents {
  const view = Object.keys(VIEW_COLUMNS).find((known) => `${PREFIX}${shortName(known)}` === uri);
  const description = view === undefined ? undefined : VIEW_COLUMNS[view];
  if (view === undefined || description === undefined) {
    throw new ResourceNotFoundError(uri);
  }
  const columns = Object.entries(description.columns).map(([column, meaning]) =>
    meaning === '' ? `- ${column}` : `- ${column}: ${plain(meaning)}`,
  );
  const read = `Read its rows with views_read and the view \`${shortName(view)}\`, or in SQL from \`${view}\`.`;
  return {
    uri,
    mimeType: RESOURCE_TYPE,
    text: `# ${view}\n\n${plain(description.row)} ${read}\n\n${columns.join('\n')}\n`,
  };
}

function shortName(view: string): string {
  return view.replace(/^finance_/, '');
}

/** Removes links, because the pages that they lead to are not available as resources. */
function plain(markdown: string): string {
  return markdown.replaceAll(/ \(\[[^\]]+\]\([^)]+\)\)|, see \[[^\]]+\]\([^)]+\)/g, '');
}
