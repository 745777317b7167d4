const TEXT_FORMATS = ['csv', 'json', 'ndjson'] as const;
export const SHEET_FORMATS = [...TEXT_FORMATS, 'xlsx', 'parquet'] as const;
export type TextFormat = (typeof TEXT_FORMATS)[number];
export type SheetFormat = (typeof SHEET_FORMATS)[number];

export function isTextFormat(format: SheetFormat): format is TextFormat {
  return TEXT_FORMATS.some((known) => known === format);
}
