import type { ValidateFunction } from 'ajv';
import type { Ajv2020 } from 'ajv/dist/2020.js';
import { canonicalJson } from '../ledger/canonical-json.ts';
import type { JsonObject } from '../ledger/content.ts';
import { issuesOfAjv } from './ajv-issues.ts';
import type { ArgumentIssue } from './argument-issues.ts';
import { createPatternGuard, type PatternGuard } from './guarded-pattern.ts';
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
  const guard = createPatternGuard();
  const compiled = firstCompiled(
    [schema, fallback].flatMap((one) => classes.map((ajvClass) => ({ ajvClass, schema: one, guard }))),
  );
  return createValidator(compiled);
}

interface Dialect {
  readonly ajvClass: AjvClass;
  readonly schema: JsonObject;
  readonly guard: PatternGuard;
}

interface Compiled extends Dialect {
  readonly validate: ValidateFunction;
}

function firstCompiled(dialects: readonly Dialect[]): Compiled {
  let failure: unknown;
  for (const dialect of dialects) {
    try {
      return { ...dialect, validate: newAjv(dialect, false).compile(dialect.schema) };
    } catch (error) {
      failure = error;
    }
  }
  throw failure;
}

function newAjv({ ajvClass, guard }: Dialect, allErrors: boolean): InstanceType<AjvClass> {
  const ajv = new ajvClass({
    strict: false,
    allErrors,
    useDefaults: true,
    meta: false,
    validateSchema: false,
    validateFormats: false,
    // What a schema inherits, `toString` for one, is not a field.
    ownProperties: true,
    logger: false,
    // `code` is for validators written to a file, which none of these is.
    code: { regExp: Object.assign(guard.compile, { code: 'guarded' }) },
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
      compiled.guard.reset();
      if (compiled.validate(value)) return [];
      const first = issuesOfAjv(compiled.validate.errors ?? [], value);
      // Only a failure needs to name everything that is wrong, and only a small value may: each wrong item of a
      // large one would make an error of its own.
      if (isLarge(value)) return first;
      thorough ??= createThorough(compiled);
      const all = thorough(value);
      // The defaults of the first pass may have mended what failed; it failed all the same.
      return all.length > 0 ? all : first;
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
function createThorough(dialect: Dialect): (value: unknown) => readonly ArgumentIssue[] {
  const compile = (schema: JsonObject) => newAjv(dialect, true).compile(schema);
  const whole = compile(dialect.schema);
  const forms = formsOf(dialect.schema).map(compile);
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
