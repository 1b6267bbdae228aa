import type { ErrorObject, ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { JsonObject } from '../ledger/content.ts';
import { type ArgumentIssue, optionsText } from './argument-issues.ts';
import { guardedPattern } from './guarded-pattern.ts';
import { isList, isObject } from './schema-normal-form.ts';

/** Checks values against one JSON Schema; writes defaults into them. */
export interface SchemaValidator {
  /** Empty if `value` fits. Changes `value`: absent fields get their defaults. */
  check(value: unknown): readonly ArgumentIssue[];
}

type AjvClass = typeof Ajv2020;

/**
 * Compiles `source`, or where no dialect of the validator can read it, `fallback`, its normal form. Loads ajv at the
 * first use of the process. ajv generates code: it does not work where that is forbidden.
 * @throws what ajv throws where neither can be compiled
 */
export async function compileSchema(source: JsonObject, fallback: JsonObject): Promise<SchemaValidator> {
  const [{ Ajv2020 }, { Ajv }] = await Promise.all([import('ajv/dist/2020.js'), import('ajv')]);
  // Both classes share their interface; only the vocabulary differs.
  const classes = [Ajv2020, Ajv as unknown as AjvClass];
  const { $schema: _, ...schema } = source;
  const first = firstCompiled(classes, [schema, fallback]);
  return createValidator(first);
}

interface Compiled {
  readonly ajvClass: AjvClass;
  readonly schema: JsonObject;
  readonly validate: ValidateFunction;
}

function firstCompiled(classes: readonly AjvClass[], schemas: readonly JsonObject[]): Compiled {
  let failure: unknown;
  for (const schema of schemas) {
    for (const ajvClass of classes) {
      try {
        return { ajvClass, schema, validate: newAjv(ajvClass, { allErrors: false }).compile(schema) };
      } catch (error) {
        failure = error;
      }
    }
  }
  throw failure;
}

function newAjv(ajvClass: AjvClass, options: { readonly allErrors: boolean }): InstanceType<AjvClass> {
  const regExp = Object.assign((source: string, flags: string) => guardedPattern(source, flags), {
    code: 'guardedPattern',
  });
  const ajv = new ajvClass({
    strict: false,
    allErrors: options.allErrors,
    useDefaults: true,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    addUsedSchema: false,
    logger: false,
    code: { regExp },
  });
  // The built-in check compares every pair of items; a model may send many.
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    error: { message: 'must not hold the same item twice' },
    compile: (wanted: boolean) => (items: readonly unknown[]) =>
      !wanted || new Set(items.map((item) => canonicalJson(item))).size === items.length,
  });
  return ajv;
}

function createValidator(compiled: Compiled): SchemaValidator {
  let thorough: ((value: unknown) => readonly ArgumentIssue[]) | undefined;
  return {
    check(value) {
      if (compiled.validate(value)) return [];
      // Only a failure needs to name everything that is wrong, and only a small value may: each wrong item of a
      // large one would make an error of its own.
      if (isLarge(value)) return issuesOfAjv(compiled.validate.errors ?? [], value);
      thorough ??= createThorough(compiled);
      return thorough(value);
    },
  };
}

const MAX_THOROUGH_VALUES = 1_000;

function isLarge(value: unknown): boolean {
  const open = [value];
  let count = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    count += 1;
    if (count > MAX_THOROUGH_VALUES) return true;
    if (typeof next === 'object' && next !== null) for (const item of Object.values(next)) open.push(item);
  }
  return false;
}

/** Names every issue; where the schema is a union, those of the one form that was meant, else those of each form. */
function createThorough({ ajvClass, schema }: Compiled): (value: unknown) => readonly ArgumentIssue[] {
  const compile = (one: JsonObject) => newAjv(ajvClass, { allErrors: true }).compile(one);
  const whole = compile(schema);
  const forms = formsOf(schema).map(compile);
  const issuesBy = (validate: ValidateFunction, value: unknown) =>
    validate(value) ? [] : issuesOfAjv(validate.errors ?? [], value);
  return (value) => {
    if (forms.length === 0) return issuesBy(whole, value);
    const found = forms.map((validate) => ({
      issues: issuesBy(validate, value),
      isOther: isOtherForm(validate),
    }));
    const meant = found.filter((form) => !form.isOther);
    const [only] = meant;
    if (only !== undefined && meant.length === 1 && only.issues.length > 0) return only.issues;
    const all = found.flatMap((form, index) =>
      form.issues.map(({ path, problem }) => ({ path, problem: `${problem} (form ${index + 1})` })),
    );
    return all.length > 0 ? all : issuesBy(whole, value);
  };
}

const MAX_FORMS = 16;

/** The forms of a union at the root, each with the rest of the schema around it. */
function formsOf(schema: JsonObject): readonly JsonObject[] {
  const { anyOf, oneOf, ...rest } = schema;
  const forms = isList(anyOf) ? anyOf : oneOf;
  if (!isList(forms) || (anyOf !== undefined && oneOf !== undefined) || forms.length > MAX_FORMS) return [];
  const around = isList(rest['allOf']) ? rest['allOf'] : [];
  return forms.filter(isObject).map((form) => ({ ...rest, allOf: [...around, form] }));
}

/** A fixed value at the top does not match: the arguments were meant for another form. */
function isOtherForm(validate: ValidateFunction): boolean {
  return (validate.errors ?? []).some(
    ({ keyword, instancePath }) =>
      (keyword === 'const' || keyword === 'enum') && instancePath.lastIndexOf('/') === 0,
  );
}

function issuesOfAjv(errors: readonly ErrorObject[], value: unknown): readonly ArgumentIssue[] {
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
