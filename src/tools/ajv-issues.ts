import type { ErrorObject } from 'ajv';
import { type ArgumentIssue, optionsText } from './argument-issues.ts';

/** What ajv found in `value`. Its own messages say what a schema wants, never what it got. */
export function issuesOfAjv(errors: readonly ErrorObject[], value: unknown): readonly ArgumentIssue[] {
  const issues = errors.map((error) => issueOf(error, value));
  // Where members of a union are named, that none of them fits goes without saying.
  const specific = issues.filter((_, index) => !/^(?:any|one)Of$|^if$/.test(errors[index]?.keyword ?? ''));
  return specific.length > 0 ? specific : issues;
}

function issueOf(error: ErrorObject, value: unknown): ArgumentIssue {
  const path = pathOf(error.instancePath, value);
  // Parameters of the built-in keywords; each keyword has its own.
  const params = error.params as { readonly [name: string]: unknown };
  switch (error.keyword) {
    case 'required':
      return { path: [...path, String(params['missingProperty'])], problem: 'is required' };
    case 'additionalProperties':
    case 'unevaluatedProperties':
      return {
        path: [...path, String(params['additionalProperty'] ?? params['unevaluatedProperty'])],
        problem: 'is not a field of this call',
      };
    case 'type':
      return { path, problem: `expected ${[params['type']].flat().join(' or ')}` };
    case 'enum':
      return { path, problem: optionsText([params['allowedValues']].flat()) };
    case 'const':
      return { path, problem: optionsText([params['allowedValue']]) };
    default:
      return { path, problem: error.message ?? `breaks ${error.keyword}` };
  }
}

function pathOf(pointer: string, value: unknown): readonly (string | number)[] {
  const path: (string | number)[] = [];
  let at: unknown = value;
  for (const token of pointer.split('/').slice(1)) {
    const key = token.replaceAll('~1', '/').replaceAll('~0', '~');
    path.push(Array.isArray(at) ? Number(key) : key);
    at = typeof at === 'object' && at !== null ? (at as { readonly [key: string]: unknown })[key] : undefined;
  }
  return path;
}
