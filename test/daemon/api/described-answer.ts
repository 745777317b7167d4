import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import type { Operation } from '../../../src/operations/operation.ts';

/** Returns a function that gives what is wrong with an answer of an operation by the OpenAPI document `description`. */
export function answerChecker(
  description: object,
): (operation: Pick<Operation, 'http'>, answer: string) => ErrorObject[] {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(description, 'api');
  return ({ http }, answer) => {
    const path = http.path.replaceAll('~', '~0').replaceAll('/', '~1').replaceAll('{', '%7B').replaceAll('}', '%7D');
    const response = `${http.method.toLowerCase()}/responses/${http.status ?? 200}`;
    const validate = ajv.getSchema(`api#/paths/${path}/${response}/content/application~1json/schema`);
    if (validate === undefined) throw new Error(`${http.method} ${http.path} has no schema of its answer`);
    // A double is near enough for the types: that every digit is there is tested elsewhere.
    validate(JSON.parse(answer));
    return validate.errors ?? [];
  };
}
