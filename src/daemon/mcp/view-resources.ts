import { type Resource, ResourceNotFoundError, type TextResourceContents } from '@modelcontextprotocol/server';
import { VIEW_COLUMNS } from '../../ledger/store/schema/view-columns/view-columns.ts';

const PREFIX = 'ledger://views/';
const RESOURCE_TYPE = 'text/markdown';

/** The `finance_*` views of the ledger as resources: each shows the meaning of a row and of its columns. */
export const VIEW_RESOURCES: readonly Resource[] = Object.entries(VIEW_COLUMNS).map(([view, { row }]) => {
  const name = shortName(view);
  return { uri: `${PREFIX}${name}`, name, title: view, description: plain(row), mimeType: RESOURCE_TYPE };
});

/** Returns the columns of a view as Markdown. Throws ResourceNotFoundError for another address. */
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

/** Removes links: a resource has no pages beside it. */
function plain(markdown: string): string {
  return markdown.replaceAll(/ \(\[[^\]]+\]\([^)]+\)\)|, see \[[^\]]+\]\([^)]+\)/g, '');
}
