export const NDJSON_TYPE = 'application/x-ndjson';
export const CSV_TYPE = 'text/csv';
export const PROBLEM_TYPE = 'application/problem+json';
export const JSON_TYPE = 'application/json; charset=utf-8';
export const XLSX_TYPE = 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet';
export const PARQUET_TYPE = 'application/vnd.apache.parquet';
export const HTML_CONTENT_TYPE = 'text/html';
