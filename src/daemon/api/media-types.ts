export const NDJSON_TYPE = 'application/x-ndjson';
export const CSV_TYPE = 'text/csv';
export const PROBLEM_TYPE = 'application/problem+json';
export const JSON_TYPE = 'application/json; charset=utf-8';
